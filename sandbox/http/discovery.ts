/** What is served: the plain and the aggregated discovery documents. */
import { createHash } from "node:crypto";
import { type Fields, listAt, textAt } from "../json.ts";
import { virtualResources } from "../resources/builtin.ts";
import type { Registry } from "../resources/registry.ts";
import { apiVersionOf, type Served, splitApiVersion } from "../resources/resource.ts";
import { noSuchResource } from "./api_error.ts";
import { type Exchange, type Reply, textReply } from "./exchange.ts";
import { negotiate, parseAccept } from "./negotiate.ts";
import { plainReply } from "./represent.ts";

/** In this order of preference, the rest behind in order of names. */
const versionOrder = /^v(\d+)(?:(alpha|beta)(\d+))?$/;

/** GA before beta before alpha, newer before older. */
export function compareVersions(left: string, right: string): number {
  const a = versionRank(left);
  const b = versionRank(right);
  for (let at = 0; at < 3; at++) {
    const difference = (b[at] ?? 0) - (a[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return left < right ? -1 : left > right ? 1 : 0;
}

function versionRank(version: string): readonly number[] {
  const match = versionOrder.exec(version);
  if (match === null) return [0, 0, 0];
  const stage = match[2] === undefined ? 3 : match[2] === "beta" ? 2 : 1;
  return [stage, Number(match[1]), Number(match[3] ?? 0)];
}

/** One line of a discovery document, in the plain form. */
function plainEntries(served: Served): Fields[] {
  const own: Fields = {
    name: served.plural,
    singularName: served.singular,
    namespaced: served.resource.namespaced,
    kind: served.kind,
    verbs: served.verbs,
    ...(served.shortNames.length > 0 ? { shortNames: served.shortNames } : {}),
    ...(served.categories.length > 0 ? { categories: served.categories } : {}),
    storageVersionHash: storageHash(served),
  };
  const below = [...served.subresources.values()].map((subresource) => {
    const foreign = subresource.group !== served.group || subresource.version !== served.version;
    return {
      name: `${served.plural}/${subresource.name}`,
      singularName: "",
      namespaced: served.resource.namespaced,
      ...(foreign ? { group: subresource.group, version: subresource.version } : {}),
      kind: subresource.kind,
      verbs: subresource.verbs,
    };
  });
  return [own, ...below];
}

function storageHash(served: Served): string {
  const stored = `${served.resource.storedApiVersion}/${served.kind}`;
  return createHash("sha256").update(stored).digest().subarray(0, 8).toString("base64");
}

function virtualEntries(apiVersion: string): Fields[] {
  return virtualResources()
    .filter((entry) => textAt(entry, "groupVersion") === apiVersion)
    .map(({ groupVersion: _groupVersion, ...entry }) => entry);
}

export class Discovery {
  readonly #registry: Registry;
  #known: { generation: number; groups: ReadonlyMap<string, readonly string[]> } | undefined;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** group -> its versions, the preferred one first. */
  groups(): ReadonlyMap<string, readonly string[]> {
    if (this.#known?.generation === this.#registry.generation) return this.#known.groups;
    const groups = this.#readGroups();
    this.#known = { generation: this.#registry.generation, groups };
    return groups;
  }

  #readGroups(): Map<string, string[]> {
    const groups = new Map<string, Set<string>>();
    const add = (group: string, version: string): void => {
      const versions = groups.get(group) ?? new Set();
      groups.set(group, versions.add(version));
    };
    for (const served of this.#registry.all()) add(served.group, served.version);
    for (const entry of virtualResources()) {
      const { group, version } = splitApiVersion(textAt(entry, "groupVersion"));
      add(group, version);
    }
    return new Map([...groups].map(([group, versions]) => [group, [...versions].sort(compareVersions)]));
  }

  hasVersion(group: string, version: string): boolean {
    return this.groups().get(group)?.includes(version) ?? false;
  }

  #entries(group: string, version: string): Fields[] {
    const entries: Fields[] = [];
    for (const served of this.#registry.all()) {
      if (served.group === group && served.version === version) entries.push(...plainEntries(served));
    }
    entries.push(...virtualEntries(apiVersionOf(group, version)));
    return entries.sort((left, right) => (textAt(left, "name") < textAt(right, "name") ? -1 : 1));
  }

  /** Undefined where the path is no discovery document. */
  reply(exchange: Exchange): Reply | undefined {
    const parts = exchange.path.split("/").filter((part) => part !== "");
    const [root, first, second] = parts;
    if (root !== "api" && root !== "apis") return undefined;
    if (parts.length === 1) return this.#rootReply(exchange, root);
    if (root === "api" && parts.length === 2 && first === "v1") return this.#versionReply(exchange, "", "v1");
    if (root === "apis" && parts.length === 2) return this.#groupReply(exchange, first ?? "");
    if (root === "apis" && parts.length === 3 && this.hasVersion(first ?? "", second ?? "")) {
      return this.#versionReply(exchange, first ?? "", second ?? "");
    }
    return undefined;
  }

  #rootReply(exchange: Exchange, root: "api" | "apis"): Reply {
    if (wantsAggregated(exchange)) return this.#aggregatedReply(exchange, root);
    if (root === "api") {
      return documentReply(exchange, {
        kind: "APIVersions",
        versions: ["v1"],
        serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "127.0.0.1:443" }],
      });
    }
    const groups = [...this.groups()]
      .filter(([group]) => group !== "")
      .map(([group, versions]) => groupDocument(group, versions));
    return documentReply(exchange, { kind: "APIGroupList", apiVersion: "v1", groups });
  }

  #groupReply(exchange: Exchange, group: string): Reply {
    const versions = this.groups().get(group);
    if (versions === undefined || group === "") return textReply(404, "404 page not found\n");
    return documentReply(exchange, { kind: "APIGroup", apiVersion: "v1", ...groupDocument(group, versions) });
  }

  #versionReply(exchange: Exchange, group: string, version: string): Reply {
    if (!this.hasVersion(group, version)) throw noSuchResource();
    return documentReply(exchange, {
      kind: "APIResourceList",
      apiVersion: "v1",
      groupVersion: apiVersionOf(group, version),
      resources: this.#entries(group, version),
    });
  }

  #aggregatedReply(exchange: Exchange, root: "api" | "apis"): Reply {
    const items = [...this.groups()]
      .filter(([group]) => (group === "") === (root === "api"))
      .map(([group, versions]) => ({
        metadata: group === "" ? {} : { name: group },
        versions: versions.map((version) => ({
          version,
          resources: aggregated(this.#entries(group, version), group, version),
          freshness: "Current",
        })),
      }));
    const contentType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const list = { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2", metadata: {}, items };
    const body = Buffer.from(`${JSON.stringify(list)}\n`);
    const etag = `"${createHash("sha512").update(body).digest("hex").toUpperCase()}"`;
    const headers = { etag, vary: "Accept", "cache-control": "public" };
    if (exchange.header("if-none-match") === etag)
      return { code: 304, contentType, body: Buffer.alloc(0), headers };
    return { code: 200, contentType, body, headers };
  }
}

function wantsAggregated(exchange: Exchange): boolean {
  return parseAccept(exchange.header("accept") ?? "").some(
    ({ parameters }) =>
      parameters.get("as") === "APIGroupDiscoveryList" &&
      parameters.get("g") === "apidiscovery.k8s.io" &&
      parameters.get("v") === "v2",
  );
}

function documentReply(exchange: Exchange, document: Fields): Reply {
  return plainReply(
    200,
    document,
    negotiate(exchange.header("accept"), { protobuf: false, transforms: false }),
  );
}

function groupDocument(group: string, versions: readonly string[]): Fields {
  const list = versions.map((version) => ({ groupVersion: apiVersionOf(group, version), version }));
  return { name: group, versions: list, preferredVersion: list[0] };
}

function aggregated(entries: readonly Fields[], group: string, version: string): Fields[] {
  const byName = new Map<string, { resource: Fields; subresources: Fields[] }>();
  // In the order of names a resource comes before what is below it.
  for (const entry of entries) {
    const [plural = "", subresource] = textAt(entry, "name").split("/");
    if (subresource === undefined) {
      byName.set(plural, { resource: aggregatedResource(entry, group, version), subresources: [] });
      continue;
    }
    const responseKind = kindOf(entry, group, version);
    byName.get(plural)?.subresources.push({ subresource, responseKind, verbs: listAt(entry, "verbs") });
  }
  return [...byName.values()].map(({ resource, subresources }) =>
    subresources.length > 0 ? { ...resource, subresources } : resource,
  );
}

function aggregatedResource(entry: Fields, group: string, version: string): Fields {
  return {
    resource: textAt(entry, "name"),
    responseKind: kindOf(entry, group, version),
    scope: entry["namespaced"] === true ? "Namespaced" : "Cluster",
    singularResource: textAt(entry, "singularName"),
    verbs: listAt(entry, "verbs"),
    ...("shortNames" in entry ? { shortNames: entry["shortNames"] } : {}),
    ...("categories" in entry ? { categories: entry["categories"] } : {}),
  };
}

function kindOf(entry: Fields, group: string, version: string): Fields {
  const foreign = "group" in entry;
  return {
    group: foreign ? textAt(entry, "group") : group,
    version: foreign ? textAt(entry, "version") : version,
    kind: textAt(entry, "kind"),
  };
}
