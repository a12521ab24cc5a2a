// The playground as a visitor uses it: node playground.mjs ADDRESS
// What is on the screen and what was asked of the network goes into the results, and the test judges it.
import { note, openPage, shoot, writeResults } from './session.mjs';

const address = process.argv[2];
const { browser, page } = await openPage();
page.setDefaultTimeout(180_000);
const complaints = [];
const requests = [];
page.context().on('request', (request) => requests.push(request.url()));
page.on('console', (message) => complaints.push(message.text()));
page.on('pageerror', (error) => complaints.push(error.message));

const ready = () => page.locator('#status', { hasText: /^Ready\.$/ }).waitFor();
const look = async () => ({
  findings: await page.locator('#findings li .place').allInnerTexts(),
  kernels: await page.locator('#kernels li').allInnerTexts(),
  marked: await page.locator('#lines .error, #lines .warning, #lines .info').allInnerTexts(),
  // A drawing that cannot be drawn has no width.
  map: await page.locator('#map').evaluate((map) => map.hidden ? 0 : map.naturalWidth),
  text: await page.locator('#text').inputValue(),
});

await page.goto(address);
await ready();
note('ready');
const sample = await look();
await shoot(page, 'playground');

const race = page.locator('#findings li', { hasText: 'SMEM201' });
await race.locator('.place').click();
const selected = await page.locator('#text').evaluate((text) => text.value.slice(text.selectionStart, text.selectionEnd));
await race.getByRole('button', { name: /__syncthreads/ }).first().click();
await page.locator('#rewrite').waitFor();
const offered = { added: await page.locator('#diff ins').allInnerTexts(), removed: await page.locator('#diff del').allInnerTexts() };
await shoot(page, 'playground-rewrite');
await page.getByRole('button', { name: 'Apply', exact: true }).click();
await page.locator('#status', { hasText: 'Looking' }).waitFor();
await ready();
const mended = await look();
note('mended');

await page.locator('#target').selectOption('sm_90');
await page.locator('#kernels', { hasText: /KiB · ≤ 8/ }).waitFor();
await ready();
await page.getByRole('button', { name: 'Copy a link to this' }).click();
await page.locator('#status', { hasText: 'The link is in' }).waitFor();
const link = page.url();
note('shared');

await page.setViewportSize({ width: 400, height: 800 });
await page.emulateMedia({ colorScheme: 'dark' });
await page.goto('about:blank');
await page.goto(link);
await ready();
const opened = { ...(await look()), target: await page.locator('#target').inputValue() };
const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
await shoot(page, 'playground-shared');

await page.goto('about:blank');
await page.goto(`${address}#bm90IG91cnM`);
await page.locator('#status', { hasText: 'holds no kernel' }).waitFor();
const broken = await page.locator('#text').inputValue();

writeResults({ complaints, requests, sample, selected, offered, mended, link, opened, overflow, broken });
await browser.close();
