// Runs a test module inside the extension host: node in_host.mjs WORKSPACE HARNESS MODULE
import { folderUrl, host, note, openPage, shoot, writeResults } from './session.mjs';

const [workspace, harness, module] = process.argv.slice(2);
const { browser, page } = await openPage();
const cases = {};

let exited;
const exit = new Promise((resolve) => (exited = resolve));
await page.exposeFunction('codeAutomationLog', (_type, args) => {
  // Everything that VS Code writes to its console comes along, hundreds of lines of it.
  const result = /^CASE (\{.*\})$/s.exec(args.join(' '));
  if (!result) return;
  const { name, error, seconds } = JSON.parse(result[1]);
  cases[name] = error ?? null;
  note(`${error ? 'FAILED' : 'passed'} ${name} (${seconds} s)${error ? `\n${error}` : ''}`);
});
await page.exposeFunction('codeAutomationExit', (code) => exited(code));

const remote = (file) => `vscode-remote://${host}${file}`;
const payload = JSON.stringify([
  ['extensionDevelopmentPath', remote(harness)],
  ['extensionTestsPath', remote(module)],
]);
await page.goto(folderUrl(workspace, `&payload=${encodeURIComponent(payload)}`));
const code = await Promise.race([exit, new Promise((resolve) => setTimeout(() => resolve('timeout'), 540_000))]);
note(`exit ${code}`);

// A window under test pops nothing up; what it would have shown is behind the bell. The list holds what fits into it.
await page.setViewportSize({ width: 1440, height: 2000 });
await page.locator('[id="status.notifications"]').click();
const messages = page.locator('.notifications-center .notification-list-item-message');
await messages.first().waitFor({ timeout: 60_000 }).catch(() => note('no notifications'));
const notifications = await messages.allInnerTexts();
await shoot(page, 'notifications');
writeResults({ cases, notifications, exit: code });
await browser.close();
process.exit(0); // the timer of the race is still running
