import assert from "node:assert/strict";
import type { Item, Status } from "../cluster/api.ts";
import { member, nameOf, records, reportsReady } from "./items.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

/** Two runs of the suite share nodes: each has images of its own. */
const imagesOf = {
  v1alpha1: { all: "busybox:1.34", one: "nginx:1.21", label: "nginx:1.20" },
  v1beta1: { all: "busybox:1.35", one: "nginx:1.22", label: "nginx:1.19" },
} as const;
const unknown = "registry.invalid/refit/none";

export const suite: Suite = {
  number: "48",
  title: "ImagePullJob and NodeImage: images ahead of time",
  needs: ["agent"],
  // The gate of case 49: it switches ImagePullJobGate on, and one controller serves both.
  gates: "PreDownloadImageForInPlaceUpdate=true",
  async run(world) {
    const jobs = new Jobs(world);
    const nodes = await nodeSteps(world);
    await allNodes(world, jobs, nodes);
    await chosenNodes(world, jobs, nodes);
    await failingPull(world, jobs, nodes);
    await refusals(world, jobs);
    await pausedJob(world, jobs, nodes);
    await pullSecrets(world, jobs, nodes);
    await listJob(world, jobs, nodes);
    await nodeChanges(world);
  },
};

/** The pull jobs of a suite's namespace in the version under test. */
class Jobs {
  readonly #world: World;
  readonly resource: string;
  readonly listResource: string;

  constructor(world: World) {
    this.#world = world;
    this.resource = `imagepulljobs.${world.version}.apps.kruise.io`;
    this.listResource = `imagelistpulljobs.${world.version}.apps.kruise.io`;
  }

  manifest(name: string, spec: object, kind = "ImagePullJob"): object {
    return {
      apiVersion: `apps.kruise.io/${this.#world.version}`,
      kind,
      metadata: { name },
      spec: { completionPolicy: { type: "Always" }, ...spec },
    };
  }

  create(name: string, spec: object, kind?: string): Promise<Item> {
    return this.#world.apply(this.manifest(name, spec, kind));
  }

  async status(name: string): Promise<Status> {
    return (await this.#world.object(this.resource, name)).status ?? {};
  }

  /** The row, and the message that v1alpha1 alone shows in it. */
  async untilRow(row: string, message: string): Promise<void> {
    const [name = ""] = row.split(" ");
    const shown = this.#world.version === "v1alpha1" ? `${row} ${message}` : row;
    await this.#world.until(shown, async () => {
      assert.equal(await this.#world.row(this.resource, name), shown);
      assert.equal((await this.status(name))["message"], message);
    });
  }

  untilGone(name: string, resource = this.resource): Promise<void> {
    return this.#world.untilGone(resource, name);
  }

  untilList(row: string): Promise<void> {
    const [name = ""] = row.split(" ");
    return this.#world.until(row, async () =>
      assert.equal(await this.#world.row(this.listResource, name), row),
    );
  }
}

async function nodeSteps(world: World): Promise<string[]> {
  let names: string[] = [];
  await world.step("1 one NodeImage a node, labelled like it", async () => {
    await world.until("NodeImages", async () => {
      const nodes = await world.api.list("nodes");
      names = nodes.map(nameOf).sort();
      const ready = nodes.filter(reportsReady);
      for (const { metadata } of ready) {
        const nodeImage = await world.api.get("nodeimages", metadata.name);
        assert.deepEqual(nodeImage.metadata.labels, metadata.labels);
      }
    });
    const { header } = await world.printed("nodeimages");
    assert.deepEqual(header, ["NAME", "DESIRED", "PULLING", "SUCCEED", "FAILED", "AGE"]);
  });
  return names.filter((name) => !name.startsWith("bare-"));
}

async function allNodes(world: World, jobs: Jobs, nodes: readonly string[]): Promise<void> {
  const { all: image } = imagesOf[world.version];
  const selector = { names: nodes };
  const ttl = world.seconds(60, 10);
  await world.step("2 every node, one after the other, in ascending order", async () => {
    const trail = await world.trail(jobs.resource);
    const pullPolicy = { backoffLimit: 1, timeoutSeconds: 120 };
    const completionPolicy = { type: "Always", activeDeadlineSeconds: 600, ttlSecondsAfterFinished: ttl };
    await jobs.create("warm-all", { image, selector, parallelism: 1, pullPolicy, completionPolicy });
    const count = nodes.length;
    await jobs.untilRow(`warm-all ${count} 0 ${count} 0`, "job has completed");
    for (const { object } of await trail.stop()) {
      assert.ok(Number(object.status?.["active"] ?? 0) <= 1, JSON.stringify(object.status));
    }
    const starts: string[] = [];
    for (const node of nodes) {
      const tag = await tagOf(world, node, image);
      assert.equal(tag.owners.find(({ namespace }) => namespace === world.namespace)?.name, "warm-all");
      assert.equal(tag.status?.["phase"], "Succeeded");
      assert.equal(tag.status?.["progress"], 100);
      assert.match(String(tag.status?.["imageID"]), new RegExp(`^${image.split(":")[0]}@sha256:`));
      starts.push(String(tag.status?.["completionTime"]));
    }
    assert.deepEqual(starts, starts.toSorted());
  });
  await world.step("2 gone after its time to live, with its entries", async () => {
    await jobs.untilGone("warm-all");
    await world.until("the entries are gone", async () => {
      for (const node of nodes) assert.equal((await findTag(world, node, image))?.owners.length ?? 0, 0);
    });
  });
}

async function chosenNodes(world: World, jobs: Jobs, nodes: readonly string[]): Promise<void> {
  const { one, label } = imagesOf[world.version];
  const [first = ""] = nodes;
  const last = nodes.at(-1) ?? "";
  await world.step("3 one node by name", async () => {
    await jobs.create("warm-one", { image: one, selector: { names: [first] } });
    await jobs.untilRow("warm-one 1 0 1 0", "job has completed");
    const holders = await holdersOf(world, nodes, one, "warm-one");
    assert.deepEqual(holders, [first]);
  });
  await world.step("3 one node by label; a job without time to live stays", async () => {
    const node = await world.api.get("nodes", last);
    const hostname = node.metadata.labels?.["kubernetes.io/hostname"];
    const selector = { matchLabels: { "kubernetes.io/hostname": hostname } };
    await jobs.create("warm-label", { image: label, selector });
    await jobs.untilRow("warm-label 1 0 1 0", "job has completed");
    assert.deepEqual(await holdersOf(world, nodes, label, "warm-label"), [last]);
    assert.equal((await jobs.status("warm-one"))["message"], "job has completed");
  });
}

async function failingPull(world: World, jobs: Jobs, nodes: readonly string[]): Promise<void> {
  const image = `${unknown}:${world.version}`;
  const count = nodes.length;
  await world.step("4 an image that no registry has", async () => {
    const pullPolicy = { backoffLimit: 1, timeoutSeconds: 30 };
    await jobs.create("warm-none", { image, selector: { names: nodes }, parallelism: "4", pullPolicy });
    await jobs.untilRow(`warm-none ${count} 0 0 ${count}`, "job has completed");
    const status = await jobs.status("warm-none");
    assert.deepEqual(status["failedNodes"], nodes);
    for (const node of nodes) {
      const tag = await tagOf(world, node, image);
      assert.equal(tag.status?.["phase"], "Failed");
      assert.match(String(tag.status?.["message"]), /Failed to pull image reference/);
    }
    await world.until("events tell it", async () => {
      const events = await world.events("ImagePullJob", "warm-none", "PullImageFailed");
      assert.ok(events.length > 0 && events.every(({ type }) => type === "Warning"));
    });
    await world.remove(jobs.resource, "warm-none");
  });
}

async function refusals(world: World, jobs: Jobs): Promise<void> {
  await world.step("5 refused", async () => {
    const timeout = { pullPolicy: { timeoutSeconds: 600 } };
    const matchLabels = { a: "b" };
    const refusals: readonly [spec: object, words: RegExp][] = [
      [
        { ...timeout, completionPolicy: { type: "Always", activeDeadlineSeconds: 10 } },
        /completionPolicy\.activeDeadlineSeconds must be greater than pullPolicy\.timeoutSeconds\(default 600\)/,
      ],
      [
        { selector: { matchLabels }, podSelector: { matchLabels } },
        /can not set both selector and podSelector/,
      ],
      [{ image: "" }, /image can not be empty/],
      [{ image: "../etc/passwd" }, /invalid image \.\.\/etc\/passwd: invalid reference format/],
      [{ parallelism: "50%" }, /parallelism does not support percentage value/],
      [
        { completionPolicy: { type: "Never", ttlSecondsAfterFinished: 5 } },
        /can only work with Always CompletionPolicyType/,
      ],
      [{ selector: { names: ["a", "a"] } }, /duplicated name in selector names/],
    ];
    for (const [spec, words] of refusals)
      await world.refuses(400, () => jobs.create("bad", { image: "nginx:1.22", ...spec }), words);
    const list = () => jobs.create("bad", { images: ["nginx:1", "nginx:1"] }, "ImageListPullJob");
    await world.refuses(400, list, /images cannot have duplicate values/);
    const changed = () =>
      world.patch(jobs.resource, "warm-one", "merge", { spec: { pullSecrets: ["other"] } });
    await world.refuses(403, changed, /spec\.pullSecrets is immutable/);
  });
}

async function pausedJob(world: World, jobs: Jobs, nodes: readonly string[]): Promise<void> {
  const { one: image } = imagesOf[world.version];
  await world.step("6 parallelism 0 starts nothing", async () => {
    await jobs.create("warm-paused", { image, selector: { names: nodes }, parallelism: 0 });
    const shown = async () => {
      const status = await jobs.status("warm-paused");
      assert.equal(status?.["desired"], nodes.length);
      assert.equal(status?.["active"] ?? 0, 0);
    };
    await world.until("the job has counted", shown);
    await world.stays(shown, 5_000);
    assert.deepEqual(await holdersOf(world, nodes, image, "warm-paused"), []);
    await world.patch(jobs.resource, "warm-paused", "merge", { spec: { parallelism: 2 } });
    await jobs.untilRow(`warm-paused ${nodes.length} 0 ${nodes.length} 0`, "job has completed");
    const tag = await tagOf(world, nodes[0] ?? "", image);
    assert.ok(tag.version >= 1, "a second owner has the image pulled again");
    await world.remove(jobs.resource, "warm-one");
    await world.until("the first owner leaves, the tag stays", async () => {
      const names = (await tagOf(world, nodes[0] ?? "", image)).owners.map(({ name }) => name);
      assert.deepEqual(names, ["warm-paused"]);
    });
    await world.remove(jobs.resource, "warm-paused");
  });
}

async function pullSecrets(world: World, jobs: Jobs, nodes: readonly string[]): Promise<void> {
  const { label: image } = imagesOf[world.version];
  const copies = async () =>
    (await world.api.list("secrets", "kruise-daemon-config")).filter(
      ({ metadata }) =>
        metadata.annotations?.["imagepulljobs.kruise.io/source-key"] === `${world.namespace}/registry`,
    );
  const auths = (password: string) =>
    Buffer.from(JSON.stringify({ auths: { "registry.invalid": { username: "u", password } } })).toString(
      "base64",
    );
  const secret = (password: string) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "registry" },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": auths(password) },
  });
  await world.step("7 pull secrets are copied for as long as the job runs", async () => {
    const foreign = { team: "a", "refit.test/private": "yes" };
    const { metadata, ...rest } = secret("one");
    await world.apply({ ...rest, metadata: { ...metadata, labels: foreign, annotations: foreign } });
    const other = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "password" },
      data: { word: "c2VjcmV0" },
    };
    await world.apply(other);
    const spec = {
      image,
      selector: { names: nodes },
      pullSecrets: ["registry", "password"],
      completionPolicy: { type: "Never" },
    };
    await jobs.create("warm-secret", spec);
    await world.until("one copy, named in the NodeImage", async () => {
      const [copy, ...others] = await copies();
      assert.equal(others.length, 0);
      const annotations = copy?.metadata.annotations ?? {};
      assert.equal(annotations["imagepulljobs.kruise.io/references"], `${world.namespace}/warm-secret`);
      assert.equal(annotations["imagepulljobs.kruise.io/mode"], "batch");
      assert.deepEqual(copy?.["data"], secret("one").data);
      assert.deepEqual(
        Object.keys(foreign).filter((name) => name in annotations || name in (copy?.metadata.labels ?? {})),
        [],
      );
      const tag = await tagOf(world, nodes[0] ?? "", image);
      const names = tag.secrets.map(({ name }) => name);
      assert.ok(names.includes(copy?.metadata.name), JSON.stringify(names));
      assert.ok(!names.some((name) => String(name).includes("password")), JSON.stringify(names));
    });
    await world.until("a secret that is no registry's is reported, not copied", async () => {
      const [reported, ...more] = await world.events("ImagePullJob", "warm-secret", "UnsupportedPullSecret");
      assert.equal(more.length, 0);
      assert.match(reported?.message ?? "", /pull secret password is of type Opaque and was not copied/);
    });
    await world.patch("secrets", "registry", "merge", { data: secret("two").data });
    await world.until("the copy follows", async () => {
      assert.deepEqual((await copies())[0]?.["data"], secret("two").data);
    });
    await world.until("all nodes have it, and the job goes on", async () => {
      const status = await jobs.status("warm-secret");
      assert.equal(status?.["succeeded"], nodes.length);
      assert.equal(status?.["message"], "job is running, progress 100.0%");
      assert.equal(status?.["completionTime"], undefined);
    });
    await world.remove(jobs.resource, "warm-secret");
    await jobs.untilGone("warm-secret");
    assert.deepEqual(await copies(), []);
  });
}

async function listJob(world: World, jobs: Jobs, nodes: readonly string[]): Promise<void> {
  const { one, all } = imagesOf[world.version];
  const missing = `${unknown}-list:${world.version}`;
  await world.step("8 a list of images", async () => {
    const spec = {
      images: [one, all],
      selector: { names: nodes },
      parallelism: 10,
      completionPolicy: { type: "Always", ttlSecondsAfterFinished: world.seconds(20, 10) },
    };
    await jobs.create("list", spec, "ImageListPullJob");
    await jobs.untilList("list 2 2 2");
    await world.once("an event tells it", async () => {
      const [made] = await world.events("ImageListPullJob", "list", "Successful create ImagePullJob");
      assert.match(made?.message ?? "", /^Create \d+ ImagePullJob$/);
    });
    await jobs.untilGone("list", jobs.listResource);
    await world.until("its jobs go with it", async () => {
      const names = (await world.list(jobs.resource)).map(nameOf);
      assert.deepEqual(
        names.filter((name) => name.startsWith("list-")),
        [],
      );
    });
  });
  await world.step("8 one image of two cannot be had", async () => {
    const spec = {
      images: [all, missing],
      selector: { names: [nodes[0]] },
      pullPolicy: { backoffLimit: 0, timeoutSeconds: 30 },
    };
    await jobs.create("partly", spec, "ImageListPullJob");
    await jobs.untilList("partly 2 1 2");
    const { status } = await world.object(jobs.listResource, "partly");
    const failed = status?.["failedImageStatuses"];
    assert.ok(Array.isArray(failed) && failed.length === 1);
    const child = String(failed[0].imagePullJob);
    assert.equal(failed[0].name, missing);
    const words = `Please check for details which nodes failed by 'kubectl get ImagePullJob ${child}'.`;
    assert.equal(failed[0].message, words);
    await world.patch(jobs.listResource, "partly", "merge", { spec: { images: [all] } });
    await world.remove(jobs.listResource, "partly");
  });
}

async function nodeChanges(world: World): Promise<void> {
  const name = `bare-${world.namespace.slice(-6)}`;
  await world.step("9 labels follow the node, and the NodeImage goes with it", async () => {
    const labels = { "kubernetes.io/hostname": name, "sandbox.refit.dev/hollow": "false", type: "bare" };
    await world.api.create({ apiVersion: "v1", kind: "Node", metadata: { name, labels } });
    const since = new Date(Date.now() - 3_600_000).toISOString().replace(/\.\d+/, "");
    const ready = {
      type: "Ready",
      status: "True",
      reason: "KubeletReady",
      message: "",
      lastTransitionTime: since,
      lastHeartbeatTime: since,
    };
    await world.patch("nodes", name, "merge", { status: { conditions: [ready] } }, "status");
    await world.until("a NodeImage", async () => {
      const { metadata } = await world.api.get("nodes", name);
      assert.deepEqual((await world.api.get("nodeimages", name)).metadata.labels, metadata.labels);
    });
    await world.patch("nodes", name, "merge", {
      metadata: { labels: { pool: "a", type: null } },
    });
    await world.until("its labels follow", async () => {
      const found = (await world.api.get("nodeimages", name)).metadata.labels ?? {};
      assert.equal(found["pool"], "a");
      assert.equal(found["type"], undefined);
    });
    await world.api.remove("nodes", name);
    await world.until("it goes", async () =>
      assert.equal(await world.api.find("nodeimages", name), undefined),
    );
  });
}

interface Tag {
  readonly version: number;
  readonly owners: readonly Record<string, unknown>[];
  readonly secrets: readonly Record<string, unknown>[];
  readonly status: Record<string, unknown> | undefined;
}

async function tagOf(world: World, node: string, image: string): Promise<Tag> {
  const tag = await findTag(world, node, image);
  assert.ok(tag !== undefined, `${node} has no entry for ${image}`);
  return tag;
}

async function findTag(world: World, node: string, image: string): Promise<Tag | undefined> {
  const { spec, status } = await world.api.get("nodeimages", node);
  const colon = image.lastIndexOf(":");
  const name = image.slice(0, colon);
  const entry = member(spec?.["images"], name);
  const isTag = (each: Record<string, unknown>) => each["tag"] === image.slice(colon + 1);
  const tag = records(entry?.["tags"]).find(isTag);
  if (tag === undefined) return undefined;
  return {
    version: Number(tag["version"] ?? 0),
    owners: records(tag["ownerReferences"]).filter(({ namespace }) => namespace === world.namespace),
    secrets: records(entry?.["pullSecrets"]),
    status: records(member(status?.["imageStatuses"], name)?.["tags"]).find(isTag),
  };
}

/** Nodes whose NodeImage names the image for this job. */
async function holdersOf(
  world: World,
  nodes: readonly string[],
  image: string,
  job: string,
): Promise<string[]> {
  const holders: string[] = [];
  for (const node of nodes) {
    const owners = (await findTag(world, node, image))?.owners ?? [];
    if (owners.some(({ name }) => name === job)) holders.push(node);
  }
  return holders;
}
