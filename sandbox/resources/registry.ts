/** All resources that are served right now: the built-in ones and those of custom resource definitions. */
import type { Resource, Served } from "./resource.ts";

export class Registry {
  readonly #byPath = new Map<string, Served>();
  readonly #resources = new Map<string, Resource>();
  readonly #views = new Map<string, Served[]>();
  /** Grows with each change; discovery and OpenAPI documents are made again then. */
  generation = 0;

  add(served: Served): void {
    const path = pathOf(served);
    const others = this.views(served.resource.name).filter((each) => pathOf(each) !== path);
    this.#views.set(served.resource.name, [...others, served]);
    this.#byPath.set(path, served);
    this.#resources.set(served.resource.name, served.resource);
    this.generation += 1;
  }

  remove(resourceName: string): void {
    for (const [path, served] of this.#byPath) {
      if (served.resource.name === resourceName) this.#byPath.delete(path);
    }
    this.#views.delete(resourceName);
    this.#resources.delete(resourceName);
    this.generation += 1;
  }

  served(group: string, version: string, plural: string): Served | undefined {
    return this.#byPath.get(`${group}/${version}/${plural}`);
  }

  /** The view in which an object of this apiVersion and kind is served. */
  ofKind(group: string, version: string, kind: string): Served | undefined {
    for (const served of this.#byPath.values()) {
      if (served.group === group && served.version === version && served.kind === kind) return served;
    }
    return undefined;
  }

  /** `pods`, `leases.coordination.k8s.io`. */
  resource(name: string): Resource | undefined {
    return this.#resources.get(name);
  }

  /** The view of a resource in the version that it is stored in. */
  storedView(resource: Resource): Served | undefined {
    let any: Served | undefined;
    for (const served of this.#byPath.values()) {
      if (served.resource !== resource) continue;
      if (served.apiVersion === resource.storedApiVersion) return served;
      any ??= served;
    }
    return any;
  }

  /** A resource that parts of the sandbox rely on. Throws when it is not served. */
  known(name: string): Resource {
    const resource = this.#resources.get(name);
    if (resource === undefined) throw new Error(`the sandbox serves no resource ${JSON.stringify(name)}`);
    return resource;
  }

  /** Its stored view. */
  knownView(name: string): Served {
    const served = this.storedView(this.known(name));
    if (served === undefined) throw new Error(`the sandbox serves no version of ${name}`);
    return served;
  }

  all(): Iterable<Served> {
    return this.#byPath.values();
  }

  /** All views of the resource of this name (`leases.coordination.k8s.io`), one for each version. */
  views(resourceName: string): readonly Served[] {
    return this.#views.get(resourceName) ?? [];
  }
}

function pathOf({ group, version, plural }: Served): string {
  return `${group}/${version}/${plural}`;
}
