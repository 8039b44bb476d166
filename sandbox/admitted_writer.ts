/** Requests of the simulated controllers: through defaulting, webhooks and validation, as their HTTP calls would go. */
import { cloneJson, type ObjectRef } from "../kube/core/index.ts";
import type { Served } from "./resources/resource.ts";
import type { RequestWriter } from "./workloads/writer.ts";
import { type CreateParts, createObject } from "./writes/create.ts";
import { deleteObject } from "./writes/delete.ts";
import { requestAtOnce, type WriteRequest } from "./writes/request.ts";

const userAgent = "kube-controller-manager";

export function admittedWriter(world: CreateParts): RequestWriter {
  return {
    async create(name, object) {
      const { namespace = "", name: objectName = "" } = object.metadata;
      const request = requestFor(world.registry.knownView(name), { namespace, name: objectName });
      return (await createObject(world, request, cloneJson(object))).object;
    },
    async remove(name, ref, options = {}) {
      const served = world.registry.knownView(name);
      if (served.resource.table.get(ref.namespace ?? "", ref.name) === undefined) return;
      await deleteObject(world, requestFor(served, ref), options);
    },
  };
}

function requestFor(served: Served, ref: ObjectRef): WriteRequest {
  const user = { username: `system:${userAgent}`, groups: ["system:authenticated"] };
  return { ...requestAtOnce(served, ref), user, userAgent, fieldManager: userAgent };
}
