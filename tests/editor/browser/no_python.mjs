// Opens a kernel where there is no Python, and looks at what the status says: node no_python.mjs WORKSPACE
import { folderUrl, note, openPage, shoot, writeResults } from './session.mjs';

const { browser, page } = await openPage();
await page.goto(folderUrl(process.argv[2]));
await page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'smooth.cu' }).dblclick();
const underlines = page.locator('.squiggly-warning, .squiggly-error, .squiggly-info');
await underlines.first().waitFor({ timeout: 120_000 });
const underlined = await underlines.count();
note('underlined');
const toasts = await page.locator('[id="status.notifications"] .codicon-bell-dot').count();
// What a language's servers say stands behind the braces in the status bar.
const braces = page.locator('[id="status.languageStatus"]');
const entry = page.locator('.hover-language-status', { hasText: 'WebAssembly' });
for (let tries = 0; tries < 10 && !(await entry.isVisible()); tries += 1) {
  await page.mouse.move(10, 10);
  await braces.hover();
  await entry.waitFor({ timeout: 6_000 }).catch(() => note('not there yet'));
}
await shoot(page, 'no-python');
const status = await entry.innerText();
await entry.getByText('Choose a Python').click();
const setting = page.locator('.settings-editor .setting-item-label', { hasText: 'Interpreter' });
await setting.first().waitFor();
writeResults({ underlined, toasts, status: status.trim(), setting: await setting.count() });
await browser.close();
