/**
 * CRI runtime.v1: messages and the methods that the agent calls. Field names are those of the definition
 * (`pod_sandbox_id`), because runtimes print container configs with these names in JSON.
 */
import { decode, encode, type Input, type Message } from "../wire.ts";
import * as cri from "./gen/runtime.ts";

export { decode, encode, type Field, fromJson, type Input, type Message, WireError } from "../wire.ts";
export * from "./gen/runtime.ts";

/** One RPC; `path` is the HTTP/2 path. */
export interface Method<Request, Response> {
  readonly name: string;
  readonly service: string;
  readonly path: string;
  readonly request: Message<Request>;
  readonly response: Message<Response>;
}

function method<Request, Response>(
  service: "RuntimeService" | "ImageService",
  name: string,
  request: Message<Request>,
  response: Message<Response>,
): Method<Request, Response> {
  return { name, service, path: `/runtime.v1.${service}/${name}`, request, response };
}

/** Every RPC in use, by name. */
export const methods = {
  Version: method("RuntimeService", "Version", cri.VersionRequest, cri.VersionResponse),
  Status: method("RuntimeService", "Status", cri.StatusRequest, cri.StatusResponse),
  RunPodSandbox: method(
    "RuntimeService",
    "RunPodSandbox",
    cri.RunPodSandboxRequest,
    cri.RunPodSandboxResponse,
  ),
  StopPodSandbox: method(
    "RuntimeService",
    "StopPodSandbox",
    cri.StopPodSandboxRequest,
    cri.StopPodSandboxResponse,
  ),
  RemovePodSandbox: method(
    "RuntimeService",
    "RemovePodSandbox",
    cri.RemovePodSandboxRequest,
    cri.RemovePodSandboxResponse,
  ),
  PodSandboxStatus: method(
    "RuntimeService",
    "PodSandboxStatus",
    cri.PodSandboxStatusRequest,
    cri.PodSandboxStatusResponse,
  ),
  ListPodSandbox: method(
    "RuntimeService",
    "ListPodSandbox",
    cri.ListPodSandboxRequest,
    cri.ListPodSandboxResponse,
  ),
  CreateContainer: method(
    "RuntimeService",
    "CreateContainer",
    cri.CreateContainerRequest,
    cri.CreateContainerResponse,
  ),
  StartContainer: method(
    "RuntimeService",
    "StartContainer",
    cri.StartContainerRequest,
    cri.StartContainerResponse,
  ),
  StopContainer: method(
    "RuntimeService",
    "StopContainer",
    cri.StopContainerRequest,
    cri.StopContainerResponse,
  ),
  RemoveContainer: method(
    "RuntimeService",
    "RemoveContainer",
    cri.RemoveContainerRequest,
    cri.RemoveContainerResponse,
  ),
  ListContainers: method(
    "RuntimeService",
    "ListContainers",
    cri.ListContainersRequest,
    cri.ListContainersResponse,
  ),
  ContainerStatus: method(
    "RuntimeService",
    "ContainerStatus",
    cri.ContainerStatusRequest,
    cri.ContainerStatusResponse,
  ),
  ExecSync: method("RuntimeService", "ExecSync", cri.ExecSyncRequest, cri.ExecSyncResponse),
  ListImages: method("ImageService", "ListImages", cri.ListImagesRequest, cri.ListImagesResponse),
  ImageStatus: method("ImageService", "ImageStatus", cri.ImageStatusRequest, cri.ImageStatusResponse),
  PullImage: method("ImageService", "PullImage", cri.PullImageRequest, cri.PullImageResponse),
  RemoveImage: method("ImageService", "RemoveImage", cri.RemoveImageRequest, cri.RemoveImageResponse),
  ImageFsInfo: method("ImageService", "ImageFsInfo", cri.ImageFsInfoRequest, cri.ImageFsInfoResponse),
} as const;

export type MethodName = keyof typeof methods;

/** Encodes for a transport that wants Buffers. */
export function toWire<T>(type: Message<T>, value: Input<T>): Buffer {
  const bytes = encode(type, value);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function fromWire<T>(type: Message<T>, bytes: Uint8Array): T {
  return decode(type, bytes);
}
