// Opens a kernel in a workspace that nobody trusts: node untrusted.mjs WORKSPACE
import { folderUrl, openPage, shoot, writeResults } from './session.mjs';

const { browser, page } = await openPage();
await page.goto(folderUrl(process.argv[2]));
await page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'smooth.cu' }).dblclick();
await page.locator('.editor-instance .squiggly-warning').first().waitFor({ state: 'attached' });
const restricted = await page.locator('.statusbar-item', { hasText: 'Restricted Mode' }).count();
await shoot(page, 'untrusted');
writeResults({ restricted });
await browser.close();
