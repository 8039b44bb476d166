/** The ContainerRecreateRequests of this node: those that its watch shows, and what is written to them. */
import type { ContainerRecreateRequest, ContainerRecreateRequestStatus } from "../../crds/index.ts";
import { Cache, type Client, isKubeError, jsonResource, keyOf } from "../../kube/index.ts";
import { podNameOf } from "../../node/index.ts";

export const recreateRequests = jsonResource<ContainerRecreateRequest>({
  group: "apps.kruise.io",
  version: "v1beta1",
  plural: "containerrecreaterequests",
  kind: "ContainerRecreateRequest",
  namespaced: true,
});

export class RecreateRequests {
  readonly cache = new Cache<ContainerRecreateRequest>({
    identify: recreateRequests.codec.identify,
    indexes: { pod: (request) => [podKeyOf(request)] },
    tombstones: 1024,
  });
  readonly #client: Pick<Client, "get" | "patch">;

  constructor(client: Pick<Client, "get" | "patch">) {
    this.#client = client;
  }

  /** Those for the pod `namespace/name` that are not being deleted. */
  ofPod(podKey: string): ContainerRecreateRequest[] {
    return [...this.cache.byIndex("pod", podKey)].filter(({ metadata }) => !metadata.deletionTimestamp);
  }

  uids(): ReadonlySet<string> {
    return new Set(Array.from(this.cache.values(), ({ metadata }) => metadata.uid ?? ""));
  }

  /** The request as the API server has it now, undefined when it is gone. Throws KubeError. */
  async newest({
    metadata: { namespace = "", name = "" },
  }: ContainerRecreateRequest): Promise<ContainerRecreateRequest | undefined> {
    try {
      return await this.#client.get(recreateRequests, { namespace, name });
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  /** On top of exactly this version; resolves with the object as it then is. Throws KubeError. */
  async writeStatus(
    { metadata: { namespace = "", name = "", resourceVersion } }: ContainerRecreateRequest,
    status: Partial<ContainerRecreateRequestStatus>,
  ): Promise<ContainerRecreateRequest> {
    const body = { metadata: { resourceVersion }, status };
    const options = { subresource: "status", priority: "high" } as const;
    const patch = { type: "merge", body } as const;
    const written = await this.#client.patch(recreateRequests, { namespace, name }, patch, options);
    this.cache.writeBack(written);
    return written;
  }
}

/** `namespace/name` of the pod that a request names. */
export function podKeyOf(request: ContainerRecreateRequest): string {
  return keyOf({ namespace: request.metadata.namespace ?? "", name: podNameOf(request) });
}
