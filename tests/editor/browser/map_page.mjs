// The page of `smem-lsp layout --format html` in a browser: node map_page.mjs PAGE…
// What is on the screen goes into the results, and the test judges it.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { note, openPage, shoot, writeResults } from './session.mjs';

const { browser, page } = await openPage();
const complaints = [];
page.on('console', (message) => complaints.push(message.text()));
page.on('pageerror', (error) => complaints.push(error.message));

const marked = () => page.evaluate(() => ({
  line: [...document.querySelectorAll('.mark')].map((row) => row.dataset.line),
  within: [...document.querySelectorAll('.within')].map((row) => row.dataset.line),
  pressed: [...document.querySelectorAll('[aria-pressed=true]')].map((bar) => bar.dataset.buffer),
  status: document.getElementById('status').textContent,
}));

/** Names that stick out of their rectangle, and how far the page sticks out of its window. */
const overflow = () => page.evaluate(() => {
  const out = [];
  for (const bar of document.querySelectorAll('.bar')) {
    const box = bar.getBoundingClientRect();
    for (const text of bar.querySelectorAll('b, i')) {
      const inside = text.getBoundingClientRect();
      const visible = inside.width > 0 && inside.height > 0;
      const fits = inside.left >= box.left - 1 && inside.right <= box.right + 1 && inside.top >= box.top - 1 && inside.bottom <= box.bottom + 1;
      if (visible && !fits) out.push(`${bar.dataset.buffer}: ${text.textContent}`);
    }
  }
  const ticks = [...document.querySelectorAll('.ticks')].flatMap((axis) => {
    const spans = [...axis.children].map((tick) => tick.getBoundingClientRect()).filter((box) => box.width > 0);
    spans.sort((a, b) => a.left - b.left);
    return spans.filter((box, at) => at > 0 && box.left < spans[at - 1].right).map((box) => `tick at ${box.left}`);
  });
  return { names: out, ticks, page: document.documentElement.scrollWidth - document.documentElement.clientWidth };
});

const seen = {};
for (const file of process.argv.slice(2)) {
  const name = path.basename(file, '.html');
  const found = { overflow: {} };
  seen[name] = found;
  for (const [width, colorScheme] of [[250, 'light'], [480, 'light'], [600, 'light'], [1440, 'dark']]) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await page.goto(pathToFileURL(file).href);
    found.overflow[width] = await overflow();
    found[colorScheme] = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await shoot(page, `map-${name}-${width}`);
  }
  const bars = page.locator('.bar:visible');
  if (!(await bars.count())) continue;

  const corner = { position: { x: 4, y: 4 } }; // the middle may be under a barrier
  await bars.last().hover(corner);
  found.tip = await page.locator('#tip').innerText();
  await bars.last().click(corner);
  found.bar = await marked();
  const barrier = page.locator('.barrier:visible').first();
  await barrier.click({ position: { x: 1, y: 4 } });
  found.barrier = await marked();
  await page.locator('table .link').first().click();
  found.declaration = await marked();

  await bars.first().focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  found.key = { ...(await marked()), tip: await page.locator('#tip').innerText() };

  const choices = page.locator('.switch label');
  found.shown = [];
  found.beside = [];
  found.applies = await page.locator('.apply:visible').count();
  for (let choice = 0; choice < (await choices.count()); choice += 1) {
    await choices.nth(choice).click();
    found.shown.push(await page.locator('.title:visible h2').allInnerTexts());
    const text = async (selector) => (await page.locator(`${selector}:visible`).allInnerTexts()).join(' | ');
    found.beside.push({
      headline: await text('.headline'),
      drawing: await text('.title h2'),
      table: await text('table'),
      stairs: (await page.locator('.stairs:visible svg').evaluateAll((all) => all.map((svg) => svg.getAttribute('aria-label')))).join(' | '),
    });
  }
  note(name);
}
writeResults({ complaints, seen });
await browser.close();
