/** The state as components inside the process see it. */
import type { Cluster, ClusterChange } from "./cluster.ts";
import { ApiError } from "./http/api_error.ts";
import { type CreateParts, createAtOnce } from "./writes/create.ts";
import { deleteAtOnce } from "./writes/delete.ts";
import { requestAtOnce } from "./writes/request.ts";
import { updateAtOnce } from "./writes/update.ts";

export function clusterView(world: Omit<CreateParts, "admission" | "authorizer">): Cluster {
  const { registry } = world;
  return {
    get: (name, ref) => registry.known(name).table.get(ref.namespace ?? "", ref.name)?.object,
    *list(name, namespace) {
      for (const revision of registry.known(name).table.list(namespace)) yield revision.object;
    },
    create(name, object) {
      const served = registry.knownView(name);
      const { namespace = "", name: objectName = "" } = object.metadata;
      return createAtOnce(world, requestAtOnce(served, { namespace, name: objectName }), object).object;
    },
    update(name, ref, change) {
      return updateAtOnce(requestAtOnce(registry.knownView(name), ref), change)?.object;
    },
    remove(name, ref, options = {}) {
      try {
        deleteAtOnce(world.clock, requestAtOnce(registry.knownView(name), ref), options);
      } catch (error) {
        // What is gone already, or is another object by now, needs no removal.
        if (!(error instanceof ApiError) || (error.code !== 404 && error.code !== 409)) throw error;
      }
    },
    subscribe(name, listener) {
      return registry.known(name).table.subscribe({
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
