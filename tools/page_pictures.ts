/**
 * `node tools/page_pictures.ts` takes the pictures of the live page that README and handbook show, from a real run on the sandbox:
 * docs/page-*.webp. Needs a Chromium, kubectl, and the program img2webp of libwebp.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Browser, chromium, type Page } from "playwright-core";

const root = join(import.meta.dirname, "..");
const frameMs = 400;
const mostFrames = 80;
const size = { width: 1200, height: 760 };

interface Running {
  readonly program: ChildProcess;
  /** What `until` found. */
  readonly found: string;
}

class Pictures {
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;

  constructor(folder: string) {
    this.#folder = folder;
    this.#env = { ...process.env, KUBECONFIG: join(folder, ".refit/kubeconfig") };
  }

  refit(...words: string[]): void {
    execFileSync(process.execPath, [join(root, "cli/bin.js"), ...words], {
      cwd: root,
      env: this.#env,
      stdio: ["ignore", "ignore", "inherit"],
    });
  }

  /** Resolves when it printed what is looked for; it goes on then. */
  async start(until: RegExp, ...words: string[]): Promise<Running> {
    const program = spawn(process.execPath, [join(root, "cli/bin.js"), ...words], {
      cwd: this.#folder,
      env: this.#env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let printed = "";
    // Read to its end: a program whose output nobody reads ends.
    const found = await new Promise<string>((resolve, reject) => {
      program.stdout.on("data", (bytes) => {
        printed += String(bytes);
        const [match] = until.exec(printed) ?? [];
        if (match !== undefined) resolve(match);
      });
      program.once("exit", () => reject(new Error(`${words.join(" ")} ended: ${printed}`)));
    });
    return { program, found };
  }

  async still(page: Page, name: string): Promise<void> {
    const session = await page.context().newCDPSession(page);
    const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 80 });
    writeFileSync(join(root, `docs/page-${name}.webp`), Buffer.from(data, "base64"));
  }

  /** Takes pictures until the rollout is done; they move in one file. */
  async film(page: Page, name: string, isDone: () => Promise<boolean>): Promise<void> {
    const frames: string[] = [];
    for (let last = 4; last > 0 && frames.length < mostFrames; ) {
      const path = join(this.#folder, `frame-${frames.length}.png`);
      await page.screenshot({ path });
      frames.push(path);
      if (await isDone()) last--;
      await sleep(frameMs);
    }
    const out = join(root, `docs/page-${name}.webp`);
    execFileSync(
      "img2webp",
      ["-loop", "0", "-lossy", "-q", "55", "-m", "6", "-d", String(frameMs), ...frames, "-o", out],
      {
        stdio: "ignore",
      },
    );
  }
}

async function end({ program }: Running): Promise<void> {
  const exited = once(program, "exit");
  program.kill("SIGINT");
  await exited;
}

async function take(pictures: Pictures, browser: Browser): Promise<void> {
  pictures.refit("apply", "-f", "examples/statefulset.yaml", "-f", "examples/daemonset.yaml");
  const ui = await pictures.start(/http:\S+/, "ui");
  try {
    const page = await browser.newPage({ viewport: size });
    await page.goto(ui.found);
    await page.waitForSelector(".list .who a");
    await page.getByRole("link", { name: "demo" }).click();
    await page.waitForSelector(".grid");
    pictures.refit("set", "image", "clone/demo", "web=nginx:1.22");
    await page.getByText("Progressing", { exact: true }).waitFor();
    await pictures.film(
      page,
      "rollout",
      async () => (await page.getByText("Done", { exact: true }).count()) > 0,
    );
    pictures.refit("set", "image", "clone/demo", "web=nginx:no-such-tag");
    // It counts as stuck once trying again has not helped for a while.
    await page.locator(".badge.stuck").waitFor({ timeout: 180_000 });
    await pictures.still(page, "why");
    await page.getByRole("link", { name: "All workloads" }).click();
    await page.waitForSelector(".list .who a");
    await pictures.still(page, "list");
    await page.emulateMedia({ colorScheme: "dark" });
    await pictures.still(page, "list-dark");
  } finally {
    await end(ui);
  }
}

const folder = mkdtempSync(join(tmpdir(), "refit-pictures-"));
const pictures = new Pictures(folder);
const up = await pictures.start(/mend it/, "up", "--pods", "60", "--nodes", "6", "--seed", "7");
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  await take(pictures, browser);
} finally {
  await browser.close();
  await end(up);
  rmSync(folder, { recursive: true, force: true });
}
