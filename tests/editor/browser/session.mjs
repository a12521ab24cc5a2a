// A page in Chromium that shows the VS Code under test.
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';

const { chromium } = createRequire(import.meta.url)(process.env.SMEM_PLAYWRIGHT);
export const host = `127.0.0.1:${process.env.SMEM_EDITOR_PORT}`;
const started = Date.now();

/** Note on the test's log when something was reached. */
export function note(text) {
  console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${text}`);
}

export async function openPage() {
  const browser = await chromium.launch({
    executablePath: process.env.SMEM_CHROMIUM,
    headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-US' });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  // A step that fails ends the process: what the screen looked like says why.
  process.on('uncaughtException', async (error) => {
    console.error(error);
    await shoot(page, 'failed').catch(() => undefined);
    process.exit(1);
  });
  return { browser, page };
}

export function folderUrl(folder, more = '') {
  return `http://${host}/?folder=${encodeURIComponent(folder)}${more}`;
}

export async function shoot(page, name) {
  await page.screenshot({ path: path.join(process.env.SMEM_ARTIFACTS, `${name}.png`) });
  note(`screenshot ${name}`);
}

export function writeResults(results) {
  fs.writeFileSync(process.env.SMEM_RESULTS, JSON.stringify(results, null, 2));
}
