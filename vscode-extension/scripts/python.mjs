// Runs a Python script with the interpreter of $PYTHON, else python3, else python: npm scripts have no fallbacks.
import { spawnSync } from 'node:child_process';

const candidates = process.env.PYTHON ? [process.env.PYTHON] : ['python3', 'python'];
for (const python of candidates) {
  const { error, status } = spawnSync(python, process.argv.slice(2), { stdio: 'inherit' });
  if (!error) process.exit(status ?? 1);
}
console.error(`No Python: tried ${candidates.join(', ')}.`);
process.exit(1);
