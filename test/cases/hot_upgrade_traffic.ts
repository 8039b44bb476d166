/** A sidecar that hands its listening socket over (`../cluster/handover`), and requests that do not stop meanwhile. */
import assert from "node:assert/strict";
import { get as httpGet } from "node:http";
import { loadavg } from "node:os";
import type { Item } from "../cluster/api.ts";
import { statusOf } from "./items.ts";
import { container, podOf } from "./manifests.ts";
import { containerOf, Sidecars } from "./sidecar_sets.ts";
import type { World } from "./world.ts";

const port = 8080;
const emptyImage = "nginx:1.19";
const images = [
  "busybox:1.32",
  "busybox:1.33",
  "busybox:1.34",
  "busybox:1.35",
  "busybox:1.36",
  "busybox:1.37",
  "nginx:1.20",
  "nginx:1.21",
  "nginx:1.22",
  "nginx:alpine",
  "nginx:mainline",
] as const;
const intervalMs = 5;
const slowMs = 100;

/**
 * The image of a release, counted from 0. The kubelet holds a container back that is restarted with an image of some minutes
 * ago: the two containers take turns, and each gets all images before it gets one again.
 */
export function imageOf(release: number): string {
  const shift = release % 2 === 0 ? 0 : Math.floor(images.length / 2);
  return images[(Math.floor(release / 2) + shift) % images.length] ?? images[0];
}

/** Runs with a ready pod of the set under requests, then says how they fared. */
export async function underTraffic(
  world: World,
  pod: { readonly nodeName?: string; readonly annotations?: Record<string, string> },
  work: (upgrades: Upgrades) => Promise<void>,
): Promise<void> {
  const set = new Sidecars(world, "traffic");
  const settled = "until [ -e /tmp/settled ]; do sleep 0.05; done";
  const mesh = container("mesh", imageOf(0), {
    command: ["handover"],
    lifecycle: { postStart: { exec: { command: ["sh", "-c", settled] } } },
    upgradeStrategy: { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: emptyImage },
  });
  const labels = { case: "traffic" };
  await set.during({ selector: { matchLabels: labels }, containers: [mesh] }, async () => {
    await world.step("the sidecar serves", async () => {
      const { nodeName, annotations = {} } = pod;
      const spec = nodeName === undefined ? {} : { nodeName };
      await world.apply(podOf("traffic", { labels, annotations, spec }));
      await set.untilRow("1 1 1");
    });
    const { status } = await world.pod("traffic");
    const traffic = new Traffic(`http://${status?.["podIP"]}:${port}/`);
    const upgrades = new Upgrades(world, set, traffic);
    try {
      await traffic.untilServedBy(world, imageOf(0));
      await work(upgrades);
    } finally {
      await traffic.stop();
    }
    await world.step(`no request failed: ${traffic.summary()}`, async () => {
      assert.deepEqual(traffic.failures.slice(0, 10), []);
      assert.ok(traffic.answered > 100 * upgrades.count, "too few requests to mean something");
      const end = await upgrades.pod();
      assert.equal(containerOf(end, "app").image, "nginx:1.20");
      const app = statusOf(end, "app");
      assert.equal(app?.restartCount, 0, "the pod's own container is left alone");
    });
  });
}

/** Of the sidecar, one after the other. */
export class Upgrades {
  count = 0;
  readonly #world: World;
  readonly #set: Sidecars;
  readonly #traffic: Traffic;

  constructor(world: World, set: Sidecars, traffic: Traffic) {
    this.#world = world;
    this.#set = set;
    this.#traffic = traffic;
  }

  /** The image that the next one brings. */
  async begin(): Promise<string> {
    const image = imageOf(++this.count);
    await this.#set.toImage(image);
    return image;
  }

  /** The newest image serves, and the other container is to be at rest. */
  async end(): Promise<void> {
    const image = imageOf(this.count);
    await this.#traffic.untilServedBy(this.#world, image);
    const atRest = async () => {
      // It may still be about to restart: that is no reason to wait with the next upgrade.
      const pair = (await this.pair()).map((one) => one.image);
      assert.deepEqual(pair.sort(), [image, emptyImage].sort());
    };
    await this.#world.once(`only ${image} is left`, atRest);
  }

  pod(): Promise<Item> {
    return this.#world.pod("traffic");
  }

  /** The two containers: image of the spec, and whether its kubelet reports it as started. */
  async pair(): Promise<{ name: string; image: string; started: boolean }[]> {
    const pod = await this.pod();
    return ["mesh-1", "mesh-2"].map((name) => {
      const { image = "" } = containerOf(pod, name);
      const status = statusOf(pod, name);
      return { name, image, started: status?.ready === true && String(status.image).endsWith(image) };
    });
  }

  servedBy(image: string): boolean {
    return this.#traffic.latest === image;
  }
}

/** Requests at a fixed rate from outside of the pod, each on a connection of its own. */
class Traffic {
  answered = 0;
  readonly failures: string[] = [];
  /** Milliseconds of the slow ones. */
  readonly #slow: number[] = [];
  readonly #url: string;
  readonly #timer: NodeJS.Timeout;
  /** Image of the container that answered last: they say their names. */
  latest = "";
  readonly #underWay = new Set<Promise<void>>();

  constructor(url: string) {
    this.#url = url;
    const begun = performance.now();
    let sent = 0;
    // A timer that comes late makes up for it.
    this.#timer = setInterval(() => {
      for (; sent < (performance.now() - begun) / intervalMs; sent++) this.#begin();
    }, intervalMs);
  }

  #begin(): void {
    const request = this.#send().finally(() => this.#underWay.delete(request));
    this.#underWay.add(request);
  }

  async untilServedBy(world: World, image: string): Promise<void> {
    await world.once(`${image} serves`, async () => {
      const lastFailure = this.failures.at(-1);
      assert.equal(
        this.latest,
        image,
        `served by ${JSON.stringify(this.latest)}, last failure: ${lastFailure ?? "none"}`,
      );
    });
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#underWay);
  }

  summary(): string {
    const slowest = Math.round(Math.max(0, ...this.#slow));
    const load = loadavg()[0]?.toFixed(1);
    return `${this.answered} answered, ${this.#slow.length} after more than ${slowMs} ms (at most ${slowest} ms), load ${load}`;
  }

  async #send(): Promise<void> {
    const begun = performance.now();
    try {
      this.latest = await bodyOf(this.#url);
      this.answered++;
      const ms = performance.now() - begun;
      if (ms > slowMs) this.#slow.push(ms);
    } catch (error) {
      this.failures.push(`${this.latest}: ${error}`);
    }
  }
}

function bodyOf(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = httpGet(url, { agent: false, timeout: 10_000 }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (part: string) => {
        text += part;
      });
      answer.on("error", reject);
      answer.on("end", () => {
        if (answer.statusCode === 200) resolve(text.trim());
        else reject(new Error(`status ${answer.statusCode}`));
      });
    });
    request.on("timeout", () => request.destroy(new Error("no answer for 10 s")));
    request.on("error", reject);
  });
}
