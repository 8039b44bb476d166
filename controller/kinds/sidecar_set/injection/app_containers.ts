/** A pod's containers before injection, as sidecars take variables, mounts and devices from them. Spec: sidecarset 8, 9. */
import { type JsonObject, own } from "../../../../kube/core/index.ts";
import { objectAt, objectsAt } from "../../../native/json_fields.ts";
import { isInjected } from "./env.ts";
import type { SharedKinds, Transfer } from "./prepared_sidecar.ts";

/** A mount or device of one of the containers. */
export interface SharedVolume {
  readonly list: "volumeMounts" | "volumeDevices";
  /** No two volumes of a container have the same one. */
  readonly path: unknown;
  readonly volume: JsonObject;
  /** Variables that its path is made of. */
  readonly env: readonly JsonObject[];
}

/** What is asked for once is kept: all sidecars of a pod ask for nearly the same. */
export class AppContainers {
  readonly #metadata: JsonObject;
  readonly #containers: readonly JsonObject[];
  readonly #variables = new Map<JsonObject, ReadonlyMap<unknown, JsonObject>>();
  readonly #shared = new Map<SharedKinds, readonly SharedVolume[]>();

  constructor(pod: JsonObject) {
    this.#metadata = objectAt(pod, "metadata");
    this.#containers = objectsAt(objectAt(pod, "spec"), "containers");
  }

  /** Variables copied whole; what is not there is left out. */
  transferred(transfers: readonly Transfer[]): JsonObject[] {
    return transfers.flatMap(({ from, names }) => {
      const source = typeof from === "object" ? own(objectAt(this.#metadata, from.from), from.key) : from;
      const container = this.#containers.find(({ name }) => name === source);
      return container === undefined ? [] : this.#variablesOf(container, names);
    });
  }

  /** The first of each path, of containers that are no sidecars themselves. */
  shared(kinds: SharedKinds): readonly SharedVolume[] {
    const known = this.#shared.get(kinds);
    if (known !== undefined) return known;
    const taken = new Set<unknown>();
    const shared = this.#containers
      .filter((container) => !isInjected(container))
      .flatMap((container) => this.#volumesOf(container, kinds))
      .filter(({ path }) => !taken.has(path) && taken.add(path));
    this.#shared.set(kinds, shared);
    return shared;
  }

  #volumesOf(container: JsonObject, { mounts, devices }: SharedKinds): SharedVolume[] {
    const found: SharedVolume[] = [];
    for (const volume of mounts ? objectsAt(container, "volumeMounts") : []) {
      const env = this.#variablesOf(container, referencesIn(own(volume, "subPathExpr")));
      found.push({ list: "volumeMounts", path: volume["mountPath"], volume, env });
    }
    for (const volume of devices ? objectsAt(container, "volumeDevices") : [])
      found.push({ list: "volumeDevices", path: volume["devicePath"], volume, env: [] });
    return found;
  }

  /** In the order of `names`; the last of repeated variables is the one that a container sees. */
  #variablesOf(container: JsonObject, names: Iterable<string>): JsonObject[] {
    let byName = this.#variables.get(container);
    if (byName === undefined) {
      byName = new Map(objectsAt(container, "env").map((variable) => [variable["name"], variable]));
      this.#variables.set(container, byName);
    }
    const found: JsonObject[] = [];
    for (const name of names) {
      const variable = byName.get(name);
      if (variable !== undefined) found.push(variable);
    }
    return found;
  }
}

/** The names in `$(NAME)`, also in `$$(NAME)`, where a variable too many does no harm: the reference copies it. */
function referencesIn(expression: unknown): Set<string> {
  const names = new Set<string>();
  if (typeof expression !== "string") return names;
  for (const [, name] of expression.matchAll(/\$\(([^()$]*)\)/g)) if (name !== undefined) names.add(name);
  return names;
}
