// The memory map over a reload, what lets a user choose, and a scan that is stopped: node map_and_pickers.mjs WORKSPACE
// two.cu has the kernel of smooth.cu and one with four buffers; what was on the screen goes into the results.
import fs from 'node:fs';
import path from 'node:path';
import { folderUrl, note, openPage, shoot, writeResults } from './session.mjs';

const [workspace] = process.argv.slice(2);
const { browser, page } = await openPage();
page.setDefaultTimeout(150_000); // a window is loaded twice
const seen = {};
const read = async (locator) => (await locator.allInnerTexts()).map((text) => text.replaceAll('\u00a0', ' '));
const editor = page.locator('.editor-instance').first();
const lenses = editor.locator('.codelens-decoration a');
const rows = page.locator('.quick-input-widget:visible .quick-input-list .monaco-list-row');
const tab = page.locator('.tab', { hasText: 'memory map' });
const source = page.locator('.tab[data-resource-name="two.cu"]');
const map = page.frameLocator('iframe.webview.ready').frameLocator('#active-frame');

/** By the palette, as a user who knows the name. It closes when something else gets the focus, a page that is loading. */
async function command(name) {
  for (let tries = 1; ; tries += 1) {
    await page.keyboard.press('F1');
    try {
      await page.locator('.quick-input-widget:visible input').fill(`>${name}`, { timeout: 10_000 });
      break;
    } catch (error) {
      note(`the palette was not open (${tries})`);
      if (tries === 5) throw error;
    }
  }
  await rows.filter({ hasText: name }).first().click();
}

/** The line and column that the status bar shows afterwards. */
async function goTo(line, column) {
  await command('Go to Line/Column...');
  await page.locator('.quick-input-widget:visible input').fill(`:${line}:${column}`);
  await page.keyboard.press('Enter');
  await page.locator('[id="status.editor.selection"]', { hasText: `Ln ${line}, Col ${column}` }).waitFor();
}

const mapOf = async () => ({
  tab: (await read(tab))[0],
  title: (await read(map.locator('h1')))[0],
  numbers: (await read(map.locator('.facts:visible')))[0],
});

await page.goto(folderUrl(workspace));
await page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'two.cu' }).dblclick();
await lenses.first().click();
await tab.waitFor();
await map.locator('.bar').first().waitFor();
seen.opened = await mapOf();

await source.click();
const lines = fs.readFileSync(path.join(workspace, 'two.cu'), 'utf8').split('\n');
const declared = lines.findIndex((line) => line.includes(' d['));
const buffer = [declared + 1, lines[declared].indexOf('d[') + 1];
await goTo(...buffer);
await map.locator('h1', { hasText: 'four' }).waitFor();
await map.locator('.facts:visible', { hasText: 'sm_90' }).first().waitFor(); // drawn after the title
seen.followed = await mapOf();
note('followed');

async function save(ending) {
  await tab.click();
  await page.locator('.editor-actions:visible a[aria-label^="Save Memory Map"], .title-actions:visible a[aria-label*="Save Memory Map"]').first().click();
  // The dialog shows the folder until it has listed it.
  await page.waitForFunction(() => document.querySelector('.quick-input-widget input')?.value.endsWith('.svg'));
  const field = page.locator('.quick-input-widget input').first();
  // Once it has, it writes the name that it proposes again.
  for (let same = 0; same < 5; same += 1) {
    const name = await field.inputValue();
    if (!name.endsWith(ending)) {
      await field.fill(name.replace(/\.svg$/, ending));
      same = 0;
    }
    await page.waitForTimeout(300);
  }
  // A press while the dialog still lists the folder is lost.
  const dialog = page.locator('.quick-input-widget');
  for (let presses = 0; presses < 20 && (await dialog.isVisible()); presses += 1) {
    await field.press('Enter');
    await dialog.waitFor({ state: 'hidden', timeout: 3_000 }).catch(() => note('the dialog is still open'));
  }
  await dialog.waitFor({ state: 'hidden', timeout: 1_000 });
}

await save('.svg');
await save('.png');
const picture = path.join(workspace, 'two.cu-37.png');
for (let tries = 0; tries < 100 && !(fs.existsSync(picture) && fs.statSync(picture).size > 0); tries += 1) await page.waitForTimeout(100);
note('saved');

// Not the browser's own reload: that gives VS Code no time to keep what a page has said last.
await source.click();
const loaded = page.waitForEvent('load');
await command('Developer: Reload Window');
await loaded;
await tab.waitFor();
await map.locator('.bar').first().waitFor();
seen.reloaded = await mapOf();
await shoot(page, 'map-after-reload');

await source.click();
await goTo(...buffer);
await lenses.first().waitFor();
const before = await read(lenses);
await command('smem-lsp: Choose the Target');
await rows.filter({ hasText: 'The worst' }).waitFor();
seen.targets = await read(rows.locator('.label-name'));
await rows.filter({ hasText: 'sm_86' }).first().click();
await page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
for (let looks = 0; looks < 100 && (await read(lenses)).join() === before.join(); looks += 1) await page.waitForTimeout(100);
seen.lenses = [before, await read(lenses)];
await map.locator('.facts:visible', { hasText: 'sm_86' }).first().waitFor();
seen.retargeted = await mapOf();
note('target chosen');

await goTo(...buffer);
await command('Refactor...');
const menu = page.locator('.action-widget .monaco-list-row');
await menu.filter({ hasText: 'ways' }).click();
await rows.filter({ hasText: 'Merge c + d' }).waitFor();
seen.merges = await read(rows.locator('.label-name'));
await shoot(page, 'merge-list');
await rows.filter({ hasText: 'Merge c + d' }).click();
await page.locator('.tab.dirty').waitFor();
await page.keyboard.press('Control+S');
await page.locator('.tab.dirty').waitFor({ state: 'detached' });
note('merged');

await command('smem-lsp: Scan Workspace');
// A window under test pops nothing up; progress is behind the bell, too.
const progress = page.locator('.notifications-center .notification-list-item', { hasText: 'Scanning the workspace' });
for (let presses = 0; presses < 10 && !(await progress.isVisible()); presses += 1) {
  await page.locator('[id="status.notifications"]').click();
  await progress.waitFor({ timeout: 3_000 }).catch(() => note('no progress yet'));
}
await progress.locator('.monaco-button', { hasText: 'Cancel' }).click();
const title = page.locator('.quick-input-widget:visible .quick-input-title');
await title.filter({ hasText: /findings|Nothing found/ }).waitFor();
seen.scan = (await read(title))[0];
await shoot(page, 'scan-cancelled');
writeResults(seen);
await browser.close();
