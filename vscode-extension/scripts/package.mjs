// Makes the VSIX. The same sources give the same bytes: entries are sorted and carry one fixed time.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const LARGEST = 12_500_000; // bytes

process.chdir(path.join(import.meta.dirname, '..'));
const { name, version } = JSON.parse(fs.readFileSync('package.json', 'utf8'));
const vsix = `${name}-${version}.vsix`;
const vsce = path.join('node_modules', '@vscode', 'vsce', 'vsce');
const { status } = spawnSync(
  process.execPath,
  [vsce, 'package', '--no-dependencies', '--allow-missing-repository', '--out', vsix],
  // A zip holds local times.
  { stdio: 'inherit', env: { SOURCE_DATE_EPOCH: '1767225600', ...process.env, TZ: 'UTC' } },
);
if (status !== 0) process.exit(status ?? 1);
const { size } = fs.statSync(vsix);
if (size > LARGEST) {
  console.error(`${vsix} has ${size} bytes, more than ${LARGEST}.`);
  process.exit(1);
}
