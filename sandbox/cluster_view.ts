/** The state as components inside the process see it. */
import type { Cluster, ClusterChange } from "./cluster.ts";
import { ApiError } from "./http/api_error.ts";
import type { Registry } from "./resources/registry.ts";
import type { Resource, Served } from "./resources/resource.ts";
import { type CreateParts, createAtOnce } from "./writes/create.ts";
import { deleteAtOnce } from "./writes/delete.ts";
import { requestAtOnce } from "./writes/request.ts";
import { updateAtOnce } from "./writes/update.ts";

export function clusterView(world: Omit<CreateParts, "admission">): Cluster {
  const find = (name: string): Resource => {
    const resource = world.registry.resource(name);
    if (resource === undefined) throw new Error(`the sandbox serves no resource ${JSON.stringify(name)}`);
    return resource;
  };
  return {
    get: (name, ref) => find(name).table.get(ref.namespace ?? "", ref.name)?.object,
    *list(name, namespace) {
      for (const revision of find(name).table.list(namespace)) yield revision.object;
    },
    create(name, object) {
      const served = viewOf(world.registry, find(name));
      const { namespace = "", name: objectName = "" } = object.metadata;
      return createAtOnce(world, requestAtOnce(served, { namespace, name: objectName }), object).object;
    },
    update(name, ref, change) {
      return updateAtOnce(requestAtOnce(viewOf(world.registry, find(name)), ref), change)?.object;
    },
    remove(name, ref, options = {}) {
      try {
        deleteAtOnce(world.clock, requestAtOnce(viewOf(world.registry, find(name)), ref), options);
      } catch (error) {
        // What is gone already, or is another object by now, needs no removal.
        if (!(error instanceof ApiError) || (error.code !== 404 && error.code !== 409)) throw error;
      }
    },
    subscribe(name, listener) {
      return find(name).table.subscribe({
        onChange({ type, current, previous }) {
          const change: ClusterChange =
            type === "MODIFIED" && previous !== undefined
              ? { type, object: current.object, before: previous.object }
              : { type: type === "DELETED" ? "DELETED" : "ADDED", object: current.object };
          listener(change);
        },
      });
    },
  };
}

function viewOf(registry: Registry, resource: Resource): Served {
  const served = registry.storedView(resource);
  if (served === undefined) throw new Error(`the sandbox serves no version of ${resource.name}`);
  return served;
}
