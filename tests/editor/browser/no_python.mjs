// Opens a kernel where there is no Python, and presses the button: node no_python.mjs WORKSPACE
import { folderUrl, note, openPage, shoot, writeResults } from './session.mjs';

const { browser, page } = await openPage();
await page.goto(folderUrl(process.argv[2]));
await page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'smooth.cu' }).dblclick();
// A window under test pops nothing up; what it would have shown is behind the bell.
await page.locator('[id="status.notifications"] .codicon-bell-dot').waitFor();
const error = page.locator('.notifications-center .notification-list-item', { hasText: 'needs Python' });
// While the window is still settling a press may be lost.
for (let presses = 0; presses < 10 && !(await error.isVisible()); presses += 1) {
  await page.locator('[id="status.notifications"]').click();
  await error.waitFor({ timeout: 6_000 }).catch(() => note('not there yet'));
}
const message = await error.locator('.notification-list-item-message').innerText();
const buttons = await error.locator('.notification-list-item-buttons-container .monaco-button').allInnerTexts();
await shoot(page, 'no-python');
await error.locator('.monaco-button', { hasText: 'Open Setting' }).click();
const setting = page.locator('.settings-editor .setting-item-label', { hasText: 'Interpreter' });
await setting.first().waitFor();
writeResults({ message: message.trim(), buttons, setting: await setting.count() });
await browser.close();
