// What a user sees, in every theme and at two widths: node themes.mjs WORKSPACE
// The kernel with its lens, stripes and findings; the light bulb; the memory map; a race, step by step.
import { folderUrl, note, openPage, shoot, writeResults } from './session.mjs';

const THEMES = ['Light Modern', 'Dark Modern', 'Dark High Contrast', 'Light High Contrast'];
const { browser, page } = await openPage();
const seen = { titles: [] };
await page.goto(folderUrl(process.argv[2]));
const editor = page.locator('.editor-instance').first();
await page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'sample.cu' }).dblclick();
await editor.locator('.squiggly-error').first().waitFor({ state: 'attached' });
await page.keyboard.press('Control+B'); // hides the side bar

async function run(command) {
  await page.keyboard.press('F1');
  const input = page.locator('.quick-input-widget input.input');
  await input.waitFor();
  await input.fill(`>${command}`);
  await page.locator('.quick-input-list .monaco-list-row', { hasText: command }).first().click();
}

async function theme(name) {
  await run('Preferences: Color Theme');
  const input = page.locator('.quick-input-widget input.input');
  await input.fill(name);
  await page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first().click();
  await page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
}

/** Put the cursor at a line and column, 1-based. */
async function put(place) {
  await page.keyboard.press('Control+1'); // the first group of editors
  await page.keyboard.press('Control+G');
  const input = page.locator('.quick-input-widget input.input');
  await input.waitFor();
  await input.fill(`:${place}`);
  await page.keyboard.press('Enter');
  await page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
}

await put('11:20');
await editor.locator('.codelens-decoration a').first().click();
await page.frameLocator('iframe.webview.ready').frameLocator('#active-frame').locator('.bar').first().waitFor();
for (const name of THEMES) {
  await theme(name);
  for (const width of [1100, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    await put('11:20');
    await page.waitForTimeout(1500); // for the stripes
    await shoot(page, `theme-${name.replaceAll(' ', '-')}-${width}-map`);
    await page.keyboard.press('Control+.');
    const menu = page.locator('.action-widget .monaco-list-row');
    await menu.first().waitFor().catch(() => note('no menu'));
    for (const row of await menu.all()) {
      const clipped = await row.locator('.title').evaluateAll((all) => all.some((one) => one.scrollWidth > one.clientWidth));
      seen.titles.push({ text: (await row.innerText()).trim(), clipped });
    }
    await shoot(page, `theme-${name.replaceAll(' ', '-')}-${width}-menu`);
    await page.keyboard.press('Escape');
  }
}
await page.locator('.tab', { hasText: 'memory map' }).click({ button: 'middle' });
await put('20:26');
await run('smem-lsp: Show the Race at the Cursor');
const race = page.frameLocator('iframe.webview.ready').frameLocator('#active-frame');
await race.locator('.step').first().waitFor();
await race.locator('.step').last().click();
for (const name of THEMES) {
  await theme(name);
  await shoot(page, `theme-${name.replaceAll(' ', '-')}-race`);
}
writeResults(seen);
await browser.close();
