import assert from "node:assert/strict";
import { get as httpGet } from "node:http";
import { loadavg } from "node:os";
import type { Item } from "../cluster/api.ts";
import { container } from "./manifests.ts";
import { containerOf, podOf, Sidecars } from "./sidecar_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const port = 8080;
const emptyImage = "nginx:1.19";
/** The kubelet holds a container back that is restarted with an image of some minutes ago: all of one container differ. */
const firstImage = "busybox:1.32";
const laterImages = [
  "busybox:1.33",
  "busybox:1.34",
  "busybox:1.35",
  "nginx:1.20",
  "nginx:1.21",
  "nginx:1.22",
  "nginx:alpine",
  "nginx:mainline",
  "busybox:1.32",
  "busybox:1.33",
];
const intervalMs = 5;
const slowMs = 100;

/** A sidecar that hands its listening socket over (`../cluster/handover`), and requests that do not stop meanwhile. */
export const suite: Suite = {
  number: "h42",
  title: "SidecarSet: no request fails during hot upgrades",
  needs: ["real-node"],
  versions: ["v1beta1"],
  async run(world) {
    const set = new Sidecars(world, "traffic");
    const settled = "until [ -e /tmp/settled ]; do sleep 0.05; done";
    const mesh = container("mesh", firstImage, {
      command: ["handover"],
      lifecycle: { postStart: { exec: { command: ["sh", "-c", settled] } } },
      upgradeStrategy: { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: emptyImage },
    });
    const labels = { case: "traffic" };
    await set.during({ selector: { matchLabels: labels }, containers: [mesh] }, async () => {
      await world.step("1 the sidecar serves", async () => {
        await world.apply(podOf("traffic", labels));
        await set.untilRow("1 1 1");
      });
      await underTraffic(world, set);
    });
  },
};

async function underTraffic(world: World, set: Sidecars): Promise<void> {
  const { status, metadata } = await podOfSet(world);
  const traffic = new Traffic(`http://${status?.["podIP"]}:${port}/`);
  try {
    await world.step("2 ten upgrades in a row", async () => {
      await traffic.untilServedBy(world, firstImage);
      for (const image of laterImages) {
        await set.toImage(image);
        await traffic.untilServedBy(world, image);
        const probe = async () => assertAtRest(await podOfSet(world), image);
        await world.until(`only ${image} is left`, probe, { stableMs: 0 });
      }
      assert.equal((await podOfSet(world)).metadata.uid, metadata.uid);
    });
  } finally {
    await traffic.stop();
  }
  await world.step(`3 no request failed: ${traffic.summary()}`, async () => {
    assert.deepEqual(traffic.failures.slice(0, 10), []);
    assert.ok(traffic.answered > 100 * laterImages.length, "too few requests to mean something");
  });
}

function podOfSet(world: World): Promise<Item> {
  return world.api.get("pods", "traffic", world.namespace);
}

/** The other one of the pair may still be about to restart: that is no reason to wait with the next upgrade. */
function assertAtRest(pod: Item, image: string): void {
  const pair = ["mesh-1", "mesh-2"].map((name) => containerOf(pod, name).image);
  assert.deepEqual(pair.sort(), [image, emptyImage].sort());
}

/** Requests at a fixed rate from outside of the pod, each on a connection of its own. */
class Traffic {
  answered = 0;
  readonly failures: string[] = [];
  /** Milliseconds of the slow ones. */
  readonly #slow: number[] = [];
  readonly #url: string;
  readonly #timer: NodeJS.Timeout;
  #latest = "";
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

  /** The containers of the images say their names. */
  async untilServedBy(world: World, image: string): Promise<void> {
    await world.until(`${image} serves`, async () => assert.equal(this.#latest, image), { stableMs: 0 });
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
      this.#latest = await bodyOf(this.#url);
      this.answered++;
      const ms = performance.now() - begun;
      if (ms > slowMs) this.#slow.push(ms);
    } catch (error) {
      this.failures.push(`${this.#latest}: ${error}`);
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
