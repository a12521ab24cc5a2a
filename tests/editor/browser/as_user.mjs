// What a user does, with mouse and keyboard: node as_user.mjs WORKSPACE
// Every step is a screenshot; what was on the screen goes into the results, and the test judges it.
import { folderUrl, note, openPage, shoot, writeResults } from './session.mjs';

const [workspace] = process.argv.slice(2);
const { browser, page } = await openPage();
const seen = {};

const editor = page.locator('.editor-instance').first();
const squiggles = editor.locator('.squiggly-warning');
/** The text of a locator, as one reads it: VS Code draws spaces as no-break spaces. */
const read = async (locator) => (await locator.allInnerTexts()).map((text) => text.replaceAll('\u00a0', ' '));
/** A name in the source, to point at. */
const word = (name) => editor.locator('.view-line span span', { hasText: new RegExp(`\\b${name}\\b`) }).first();
const tab = (title) => page.locator('.tab', { hasText: title });
const close = async (title) => {
  await tab(title).hover();
  await tab(title).locator('.tab-actions .action-label').click();
  await tab(title).waitFor({ state: 'detached' });
};

const cursor = page.locator('[id="status.editor.selection"]');
/** What a webview shows: a frame within a frame. */
const frame = () => page.frameLocator('iframe.webview.ready').frameLocator('#active-frame');

await page.goto(folderUrl(workspace));
await page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'smooth.cu' }).dblclick();
await editor.locator('.view-line').first().waitFor();
await shoot(page, '1-open');

await squiggles.first().waitFor({ state: 'attached' });
seen.squiggles = await squiggles.count();
await editor.locator('.codelens-decoration a').first().waitFor();
seen.lens = (await read(editor.locator('.codelens-decoration')))[0];
await shoot(page, '2-squiggle-and-lens');

await editor.locator('.codelens-decoration a').first().click();
await tab('memory map').waitFor();
const map = frame();
await map.locator('.bar').first().waitFor();
seen.map = {
  title: (await read(map.locator('h1')))[0],
  headline: (await read(map.locator('.headline')))[0],
  bars: await map.locator('.bar:visible').evaluateAll((bars) => bars.map((bar) => `${bar.dataset.allocator} ${bar.dataset.buffer}`)),
  background: await map.locator('body').evaluate((body) => getComputedStyle(body).backgroundColor),
};
seen.editorBackground = await editor.locator('.monaco-editor-background').first().evaluate((one) => getComputedStyle(one).backgroundColor);
await shoot(page, '3-memory-map');
await map.locator('.bar[data-buffer=peaks]').last().click({ position: { x: 4, y: 4 } });
await cursor.filter({ hasText: 'Ln 23,' }).waitFor();
seen.places = [await cursor.innerText()];
await map.locator('.barrier').first().click({ position: { x: 1, y: 4 } });
await cursor.filter({ hasText: 'Ln 14,' }).waitFor();
seen.places.push(await cursor.innerText());
await close('memory map');

await page.keyboard.press('Control+Shift+M');
const rows = page.locator('.markers-panel .monaco-list-row');
await rows.filter({ hasText: 'SMEM301' }).first().waitFor();
seen.problems = await read(rows);
const links = page.locator('.markers-panel a', { hasText: 'SMEM301' });
seen.links = await read(links);
await shoot(page, '4-problems');
await links.first().click({ modifiers: ['Control'] });
await tab('SMEM301').waitFor();
const rule = frame().locator('.markdown-body');
await rule.locator('h1').waitFor();
seen.page = await rule.innerText();
await shoot(page, '5-page-of-the-rule');
await close('SMEM301');
await page.keyboard.press('Control+J'); // hides the panel
// VS Code draws the lens from its memory first, which is plain text, and makes it a link when the server has answered.
await editor.locator('.codelens-decoration a').first().waitFor();

await word('peaks').hover();
const hover = page.locator('.monaco-hover:visible .hover-contents, .monaco-hover:visible .hover-row');
await page.locator('.monaco-hover:visible', { hasText: 'SMEM301' }).waitFor();
await page.locator('.monaco-hover:visible', { hasText: /8,192 B/ }).waitFor();
seen.hover = await read(hover);
await shoot(page, '6-hover');

await page.mouse.move(5, 5);
await page.locator('.monaco-hover:visible').first().waitFor({ state: 'hidden' });
await word('peaks').click();
const bulb = page.locator('[class*="codicon-light-bulb"], [class*="lightbulb"]');
await bulb.first().waitFor();
seen.bulbs = await bulb.count();
const menu = page.locator('.action-widget .monaco-list-row');
// On a busy machine the first press may come before the editor has the focus.
for (let presses = 0; presses < 5 && !(await menu.first().isVisible()); presses += 1) {
  await page.keyboard.press('Control+.');
  await menu.first().waitFor({ timeout: 10_000 }).catch(() => note('no menu yet'));
}
await menu.filter({ hasText: 'Merge' }).first().waitFor();
seen.menu = await read(menu);
await shoot(page, '7-quick-fix-menu');

await menu.filter({ hasText: /^Merge signal \+ peaks/ }).first().click();
await squiggles.first().waitFor({ state: 'detached' });
await editor.locator('.view-line', { hasText: 'reinterpret_cast' }).waitFor();
await editor.locator('.codelens-decoration', { hasText: /^16\.0 KiB/ }).waitFor();
await shoot(page, '8-after-the-fix');
seen.lensAfter = (await read(editor.locator('.codelens-decoration')))[0];

await page.keyboard.press('Control+S');
await page.locator('.tab.dirty').waitFor({ state: 'detached' });
note('saved');
writeResults(seen);
await browser.close();
