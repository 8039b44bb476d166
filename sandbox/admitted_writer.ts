/** Requests of the simulated controllers: through defaulting, webhooks and validation, as their HTTP calls would go. */
import { cloneJson, type ObjectRef } from "../kube/core/index.ts";
import type { Registry } from "./resources/registry.ts";
import type { Resource } from "./resources/resource.ts";
import type { RequestWriter } from "./workloads/writer.ts";
import { type CreateParts, createObject } from "./writes/create.ts";
import { deleteObject } from "./writes/delete.ts";
import type { WriteRequest } from "./writes/request.ts";

const userAgent = "kube-controller-manager";

export function admittedWriter(world: CreateParts): RequestWriter {
  const find = (name: string): Resource => {
    const resource = world.registry.resource(name);
    if (resource === undefined) throw new Error(`the sandbox serves no resource ${JSON.stringify(name)}`);
    return resource;
  };
  return {
    async create(name, object) {
      const { namespace = "", name: objectName = "" } = object.metadata;
      const request = requestFor(world.registry, find(name), { namespace, name: objectName });
      return (await createObject(world, request, cloneJson(object))).object;
    },
    async remove(name, ref, options = {}) {
      const resource = find(name);
      if (resource.table.get(ref.namespace ?? "", ref.name) === undefined) return;
      await deleteObject(world, requestFor(world.registry, resource, ref), options);
    },
  };
}

function requestFor(registry: Registry, resource: Resource, ref: ObjectRef): WriteRequest {
  const served = registry.storedView(resource);
  if (served === undefined) throw new Error(`the sandbox serves no version of ${resource.name}`);
  return {
    served,
    subresource: "",
    namespace: ref.namespace ?? "",
    name: ref.name,
    user: { username: `system:${userAgent}`, groups: ["system:authenticated"] },
    userAgent,
    fieldManager: userAgent,
    dryRun: false,
    options: {},
    warnings: [],
  };
}
