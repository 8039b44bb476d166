/** From `clone`, `clonesets.apps.kruise.io` or `clonesets.v1alpha1.apps.kruise.io` to the served resource. */
import type { Client, Resource } from "../kube/index.ts";
import { isKubeError } from "../kube/index.ts";
import { CliError } from "./errors.ts";
import { type AnyObject, at, listAt, textAt } from "./fields.ts";
import { objectCodec, type Table, tableCodec } from "./json_codec.ts";
import { nearest } from "./suggest.ts";

export interface ResourceType {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly namespaced: boolean;
}

/** Whether something is of the same group and kind. */
export function isOfKind({ group, kind }: Pick<ResourceType, "group" | "kind">) {
  return (other: Pick<ResourceType, "group" | "kind">): boolean =>
    other.group === group && other.kind === kind;
}

export function apiVersionOf(type: Pick<ResourceType, "group" | "version">): string {
  return type.group === "" ? type.version : `${type.group}/${type.version}`;
}

/** `clonesets.apps.kruise.io`: how errors name a resource. */
export function pluralName(type: Pick<ResourceType, "group" | "plural">): string {
  return type.group === "" ? type.plural : `${type.plural}.${type.group}`;
}

/** `cloneset.apps.kruise.io/sample`: how results name an object. */
export function objectName(type: Pick<ResourceType, "group" | "kind">, name: string): string {
  const kind = type.kind.toLowerCase();
  return type.group === "" ? `${kind}/${name}` : `${kind}.${type.group}/${name}`;
}

/** ` -n default`, for commands that are printed; nothing for objects of the whole cluster. */
export function inNamespace(namespace: string | undefined): string {
  return namespace === undefined || namespace === "" ? "" : ` -n ${namespace}`;
}

export function objectResource(type: ResourceType): Resource<AnyObject> {
  return { ...place(type), codec: objectCodec(apiVersionOf(type), type.kind) };
}

export function tableResource(type: ResourceType): Resource<Table> {
  return { ...place(type), codec: tableCodec };
}

function place({ group, version, plural, kind, namespaced }: ResourceType) {
  return { group, version, plural, kind, namespaced };
}

/** Looks resources up by discovery; each group version is asked for once. */
export class ResourceTypes {
  readonly #client: Client;
  readonly #served = new Map<string, Promise<readonly ResourceType[]>>();
  #groups: Promise<readonly Group[]> | undefined;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Built-in groups win, as with kubectl: `statefulset` is that of `apps`. Throws CliError for a type that is not served. */
  async find(name: string): Promise<ResourceType> {
    const type = await this.lookUp(name);
    if (type === undefined) throw await this.#unknown(name);
    return type;
  }

  /** As find(); undefined for a type that is not served. */
  async lookUp(name: string): Promise<ResourceType | undefined> {
    const [word = "", ...suffix] = name.toLowerCase().split(".");
    if (suffix.length > 0) return this.#findQualified(word, suffix);
    const known = wellKnown.get(word);
    if (known !== undefined) {
      const type = await this.#inGroup(word, known);
      if (type !== undefined) return type;
    }
    const groups = await this.#allGroups();
    for (const group of groups) {
      const type = await this.#inGroup(word, group.name);
      if (type !== undefined) return type;
    }
    return undefined;
  }

  /** The served type of a kind, the preferred version first; undefined when it is not served. */
  findKind(group: string, kind: string): Promise<ResourceType | undefined> {
    return this.#firstIn(group, (type) => type.kind === kind);
  }

  /** Types of a group, each in its preferred version. */
  async preferred(group: string): Promise<ResourceType[]> {
    const found = new Map<string, ResourceType>();
    for (const version of await this.#versions(group)) {
      for (const type of await this.list(group, version)) {
        if (!found.has(type.plural)) found.set(type.plural, type);
      }
    }
    return [...found.values()];
  }

  /** Types of one group version; empty when it is not served. */
  list(group: string, version: string): Promise<readonly ResourceType[]> {
    const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    let answer = this.#served.get(path);
    if (answer === undefined) {
      answer = this.#fetch(path, group, version);
      this.#served.set(path, answer);
    }
    return answer;
  }

  async #findQualified(word: string, suffix: readonly string[]): Promise<ResourceType | undefined> {
    const [first = "", ...others] = suffix;
    if (/^v\d+((alpha|beta)\d+)?$/.test(first) && others.length > 0) {
      const type = (await this.list(others.join("."), first)).find((candidate) => answersTo(candidate, word));
      if (type !== undefined) return type;
    }
    return this.#inGroup(word, suffix.join("."));
  }

  #inGroup(word: string, group: string): Promise<ResourceType | undefined> {
    return this.#firstIn(group, (type) => answersTo(type, word));
  }

  async #firstIn(
    group: string,
    isWanted: (type: ResourceType) => boolean,
  ): Promise<ResourceType | undefined> {
    for (const version of await this.#versions(group)) {
      const type = (await this.list(group, version)).find(isWanted);
      if (type !== undefined) return type;
    }
    return undefined;
  }

  async #versions(group: string): Promise<readonly string[]> {
    if (group === "") return ["v1"];
    return (await this.#allGroups()).find((candidate) => candidate.name === group)?.versions ?? [];
  }

  #allGroups(): Promise<readonly Group[]> {
    this.#groups ??= this.#client.request("GET", "/apis").then(groupsOf);
    return this.#groups;
  }

  async #fetch(path: string, group: string, version: string): Promise<readonly ResourceType[]> {
    try {
      const answer = await this.#client.request("GET", path);
      return typesOf(listedIn(answer, "resources", path), group, version);
    } catch (error) {
      if (isKubeError(error, "NotFound")) return [];
      throw error;
    }
  }

  async #unknown(name: string): Promise<CliError> {
    const near = await this.nearest(name);
    const hint = near === undefined ? "" : `; did you mean "${near}"?`;
    return new CliError(`the server doesn't have a resource type "${name}"${hint}`);
  }

  /** The word for a type that a mistyped one most likely meant, among the types looked at so far. */
  async nearest(name: string): Promise<string | undefined> {
    const names = new Set<string>();
    for (const [, types] of this.#served) {
      for (const type of await types)
        for (const word of [type.singular, type.plural, ...type.shortNames]) names.add(word);
    }
    return nearest(name, names);
  }
}

interface Group {
  readonly name: string;
  /** Preferred version first. */
  readonly versions: readonly string[];
}

/** Words that need no search through all groups. */
const wellKnown: ReadonlyMap<string, string> = new Map([
  ...words("", "pod pods po node nodes no service services svc event events ev configmap configmaps cm"),
  ...words("", "namespace namespaces ns secret secrets persistentvolumeclaim persistentvolumeclaims pvc"),
  ...words("apps", "deployment deployments deploy replicaset replicasets rs statefulset statefulsets sts"),
  ...words("apps", "daemonset daemonsets ds controllerrevision controllerrevisions"),
  ...words("apps.kruise.io", "cloneset clonesets clone asts ads daemon sidecarset sidecarsets"),
  ...words("apps.kruise.io", "broadcastjob broadcastjobs bcj advancedcronjob advancedcronjobs acj"),
  ...words("apps.kruise.io", "uniteddeployment uniteddeployments ud workloadspread workloadspreads ws"),
  ...words("apps.kruise.io", "containerrecreaterequest containerrecreaterequests crr nodeimage nodeimages"),
  ...words("policy.kruise.io", "podunavailablebudget podunavailablebudgets pub"),
]);

function words(group: string, text: string): [string, string][] {
  return text.split(" ").map((word) => [word, group]);
}

function answersTo(type: ResourceType, word: string): boolean {
  return (
    type.plural === word ||
    type.singular === word ||
    type.kind.toLowerCase() === word ||
    type.shortNames.includes(word)
  );
}

function groupsOf(answer: unknown): Group[] {
  return listedIn(answer, "groups", "/apis").map((group) => {
    const preferred = textAt(group, "preferredVersion", "version") ?? "";
    const versions = listAt(group, "versions").map((version) => textAt(version, "version") ?? "");
    return {
      name: textAt(group, "name") ?? "",
      versions: [preferred, ...versions.filter((version) => version !== preferred)],
    };
  });
}

/** Throws CliError for what is no list: taken for an empty one, an installation in use would seem to be none. */
function listedIn(answer: unknown, field: "groups" | "resources", path: string): readonly unknown[] {
  const listed = at(answer, field);
  if (Array.isArray(listed)) return listed;
  throw new CliError(
    `GET ${path}: the answer has no list of ${field}: is this the address of a Kubernetes API server?`,
  );
}

function typesOf(resources: readonly unknown[], group: string, version: string): ResourceType[] {
  const types: ResourceType[] = [];
  for (const resource of resources) {
    const plural = textAt(resource, "name") ?? "";
    if (plural === "" || plural.includes("/")) continue;
    const kind = textAt(resource, "kind") ?? "";
    types.push({
      group,
      version,
      plural,
      singular: textAt(resource, "singularName") || kind.toLowerCase(),
      kind,
      shortNames: listAt(resource, "shortNames").filter((name) => typeof name === "string"),
      namespaced: at(resource, "namespaced") === true,
    });
  }
  return types;
}
