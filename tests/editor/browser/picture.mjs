// The picture of the editor in the README: node picture.mjs WORKSPACE
// The kernel with what is found in it, and its memory map beside it.
import { folderUrl, openPage, shoot, writeResults } from './session.mjs';

const { browser, page } = await openPage();
await page.setViewportSize({ width: 1280, height: 780 });
await page.goto(folderUrl(process.argv[2]));
const editor = page.locator('.editor-instance').first();
await page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'three_stages.cu' }).dblclick();
await editor.locator('.squiggly-warning').first().waitFor({ state: 'attached' });
await page.keyboard.press('Control+B'); // hides the side bar
const lens = editor.locator('.codelens-decoration a').first();
await lens.click();
const map = page.frameLocator('iframe.webview.ready').frameLocator('#active-frame');
await map.locator('.bar').first().waitFor();
await page.mouse.move(5, 5);
await page.locator('.notification-toast, .monaco-hover:visible').first().waitFor({ state: 'hidden' });
await page.locator('.statusbar-item', { hasText: 'nvcc' }).waitFor({ state: 'detached' }); // it confirms the merge
await lens.filter({ hasText: '8 blocks' }).waitFor(); // as nvcc has counted its registers
await shoot(page, 'picture');
writeResults({
  lens: await lens.innerText(),
  squiggles: await editor.locator('.squiggly-warning').count(),
  headline: await map.locator('.headline').first().innerText(),
  map: await map.locator('.bar:visible').count(),
});
await browser.close();
