import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type Item, isRecord } from "../cluster/api.ts";
import { configMap } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const ANNOTATION = "kruise.io/resourcedistribution.resource";
const NAMES = ["rd-0", "rd-1", "rd-2", "rd-3", "rd-4", "rd-missing"] as const;
type Name = (typeof NAMES)[number];

export const suite: Suite = {
  number: "54",
  title: "ResourceDistribution: one ConfigMap or Secret in many namespaces",
  needs: [],
  gates: "ResourceDistributionGate=true",
  async run(world) {
    const scene = new Scene(world);
    try {
      await world.step("1 copies in all targets but the missing one", () => scene.distributes());
      await world.step("2 namespaces come, match and match no more", () => scene.followsNamespaces());
      await world.step("3 what is edited or deleted comes back", () => scene.restores());
      await world.step("4 a change reaches every copy", () => scene.changes());
      await world.step("5 a foreign object is left alone", () => scene.meetsForeign());
      await world.step("6 refused", () => scene.refuses());
      await world.step("7 the copies go with the distribution", () => scene.goes());
    } finally {
      await scene.close();
    }
  },
};

/** Namespaces and the distribution belong to no namespace: their names are different in every run. */
class Scene {
  readonly #world: World;
  readonly #id: string;
  readonly #resource: string;

  constructor(world: World) {
    this.#world = world;
    this.#id = world.namespace.split("-").at(-1) ?? "";
    this.#resource = `resourcedistributions.${world.version}.apps.kruise.io`;
  }

  async distributes(): Promise<void> {
    await this.#namespace("rd-0");
    await this.#namespace("rd-1");
    await this.#namespace("rd-2", this.#label);
    await this.#namespace("rd-3", this.#label);
    await this.#world.api.create(this.#distribution());
    await this.#untilRow("3 2 1");
    assert.deepEqual(await this.#holders(), ["rd-1", "rd-2"]);
    const stored = await this.#find();
    const conditions: readonly unknown[] = stored?.status?.conditions ?? [];
    const list = this.#world.version === "v1alpha1" ? "failedNamespace" : "failedNamespaces";
    assert.deepEqual(
      conditions
        .filter(isRecord)
        .map(({ type, status: is, [list]: failed }) => [type, is, ...(Array.isArray(failed) ? failed : [])]),
      [
        ["GetResourceFailed", "False"],
        ["CreateResourceFailed", "False"],
        ["UpdateResourceFailed", "False"],
        ["DeleteResourceFailed", "False"],
        ["ConflictOccurred", "False"],
        ["NamespaceNotExists", "True", this.#named("rd-missing")],
      ],
    );
    const metadata = (await this.#copy("rd-1"))?.metadata;
    const hash = createHash("sha256").update(this.#served()).digest("hex");
    assert.deepEqual(metadata?.annotations, {
      [`${ANNOTATION}.from`]: this.#name,
      [`${ANNOTATION}.hashcode`]: hash,
    });
    const [owner, ...others] = metadata?.ownerReferences ?? [];
    assert.deepEqual(others, []);
    assert.equal(owner?.uid, stored?.metadata.uid);
    assert.equal(owner?.controller, true);
  }

  async followsNamespaces(): Promise<void> {
    await this.#namespace("rd-missing");
    await this.#untilRow("3 3");
    await this.#relabel("rd-0", this.#label);
    await this.#untilRow("4 4");
    assert.deepEqual(await this.#holders(), ["rd-0", "rd-1", "rd-2", "rd-missing"]);
    await this.#relabel("rd-0", { group: null });
    await this.#untilRow("3 3");
    assert.deepEqual(await this.#holders(), ["rd-1", "rd-2", "rd-missing"]);
  }

  async restores(): Promise<void> {
    const { api } = this.#world;
    await api.patch("configmaps", this.#name, this.#named("rd-1"), "merge", {
      data: { mode: "x", more: "y" },
    });
    await api.remove("configmaps", this.#name, this.#named("rd-2"));
    await this.#untilData({ mode: "one" });
  }

  async changes(): Promise<void> {
    await this.#patch({ resource: { data: { mode: "two" } } });
    await this.#untilData({ mode: "two" });
    await this.#untilRow("3 3");
  }

  async meetsForeign(): Promise<void> {
    await this.#namespace("rd-4");
    await this.#world.api.create(configMap(this.#name, { theirs: "1" }), this.#named("rd-4"));
    await this.#relabel("rd-4", this.#label);
    await this.#untilRow("4 3 1");
    assert.deepEqual((await this.#copy("rd-4"))?.["data"], { theirs: "1" });
    const printed = JSON.stringify((await this.#find())?.status);
    assert.match(printed, /"ConflictOccurred"/);
    assert.ok(printed.includes(`["${this.#named("rd-4")}"]`), printed);
  }

  async refuses(): Promise<void> {
    const { api } = this.#world;
    const resource = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "s" },
      spec: { ports: [{ port: 80 }] },
    };
    const service = {
      ...this.#distribution(),
      metadata: { name: `wrong-${this.#name}` },
      spec: { resource, targets: { allNamespaces: true } },
    };
    const kinds = "unknown or unsupported resource GroupKind, only support [Secret ConfigMap]";
    await this.#refuses(() => api.create(service), kinds);
    const refusals: readonly [spec: object, words: string][] = [
      [
        { targets: { includedNamespaces: this.#list("rd-1", "rd-3") } },
        `ambiguous targets because namespace [${this.#named("rd-3")}] is in both IncludedNamespaces.List and ExcludedNamespaces.List`,
      ],
      [{ resource: { metadata: { name: "renamed" } } }, "resource apiVersion, kind, and name are immutable"],
      [{ resource: { data: { "a b": "" } } }, "spec.resource is invalid: "],
    ];
    for (const [spec, words] of refusals) await this.#refuses(() => this.#patch(spec), words);
  }

  async goes(): Promise<void> {
    await this.#world.api.remove(this.#resource, this.#name);
    await this.#world.until("only the foreign one is left", async () => {
      assert.deepEqual(await this.#holders(), ["rd-4"]);
    });
    assert.deepEqual((await this.#copy("rd-4"))?.["data"], { theirs: "1" });
  }

  async close(): Promise<void> {
    const { api } = this.#world;
    await api.remove(this.#resource, this.#name).catch(() => undefined);
    for (const name of NAMES) await api.remove("namespaces", this.#named(name)).catch(() => undefined);
  }

  get #name(): string {
    return `settings-${this.#id}`;
  }

  get #label(): Record<string, string> {
    return { group: this.#id };
  }

  #named(name: Name): string {
    return `${name}-${this.#id}`;
  }

  #list(...names: readonly Name[]): object {
    return { list: names.map((name) => ({ name: this.#named(name) })) };
  }

  /** `spec.resource` as the API serves it: compact, keys in order. */
  #served(): string {
    const metadata = { name: this.#name };
    return JSON.stringify({ apiVersion: "v1", data: { mode: "one" }, kind: "ConfigMap", metadata });
  }

  #distribution(): object {
    const selector = this.#world.version === "v1alpha1" ? "namespaceLabelSelector" : "namespaceSelector";
    return {
      apiVersion: `apps.kruise.io/${this.#world.version}`,
      kind: "ResourceDistribution",
      metadata: { name: this.#name },
      spec: {
        resource: configMap(this.#name, { mode: "one" }),
        targets: {
          includedNamespaces: this.#list("rd-1", "rd-missing"),
          [selector]: { matchLabels: this.#label },
          excludedNamespaces: this.#list("rd-3"),
        },
      },
    };
  }

  async #namespace(name: Name, labels: Record<string, string> = {}): Promise<void> {
    const metadata = { name: this.#named(name), labels };
    await this.#world.api.create({ apiVersion: "v1", kind: "Namespace", metadata });
  }

  async #relabel(name: Name, labels: Record<string, string | null>): Promise<void> {
    await this.#world.patch("namespaces", this.#named(name), "merge", {
      metadata: { labels },
    });
  }

  #patch(spec: object): Promise<Item> {
    return this.#world.patch(this.#resource, this.#name, "merge", { spec });
  }

  #find(): Promise<Item | undefined> {
    return this.#world.api.find(this.#resource, this.#name);
  }

  #copy(name: Name): Promise<Item | undefined> {
    return this.#world.api.find("configmaps", this.#name, this.#named(name));
  }

  /** Namespaces that have an object of the copies' name. */
  async #holders(): Promise<Name[]> {
    const found = await Promise.all(NAMES.map((name) => this.#copy(name)));
    return NAMES.filter((_, index) => found[index] !== undefined);
  }

  async #untilRow(counts: string): Promise<void> {
    await this.#world.until(counts, async () => {
      const row = await this.#world.row(this.#resource, this.#name);
      assert.equal(row, `${this.#name} ${counts}`);
    });
  }

  async #untilData(data: object): Promise<void> {
    await this.#world.until(JSON.stringify(data), async () => {
      for (const name of ["rd-1", "rd-2", "rd-missing"] as const)
        assert.deepEqual((await this.#copy(name))?.["data"], data, name);
    });
  }

  #refuses(send: () => Promise<unknown>, words: string): Promise<void> {
    const webhook = 'admission webhook "vresourcedistribution.kb.io" denied the request: ';
    return this.#world.refuses(422, send, webhook, words);
  }
}
