/** Sockets that speak gRPC and still are no runtime that the agent could use. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import * as grpc from "@grpc/grpc-js";
import type { Test } from "tap";
import { toWire, VersionResponse } from "../../proto/cri/index.ts";

/** Answers Unimplemented to every call, as a containerd whose CRI plugin is disabled. */
export function startForeignGrpc(t: Test, socket: string): Promise<void> {
  return serve(t, new grpc.Server(), socket);
}

/** A runtime of the time before CRI v1: only `v1alpha2` knows its name and version. */
export function startOldCri(t: Test, socket: string, name: string, version: string): Promise<void> {
  const server = new grpc.Server();
  const raw = (bytes: Buffer): Buffer => bytes;
  server.addService(
    {
      Version: {
        path: "/runtime.v1alpha2.RuntimeService/Version",
        requestStream: false,
        responseStream: false,
        requestSerialize: raw,
        requestDeserialize: raw,
        responseSerialize: raw,
        responseDeserialize: raw,
      },
    },
    {
      Version: (_: unknown, reply: grpc.sendUnaryData<Buffer>) =>
        reply(
          null,
          Buffer.from(
            toWire(VersionResponse, {
              version: "0.1.0",
              runtime_name: name,
              runtime_version: version,
              runtime_api_version: "v1alpha2",
            }),
          ),
        ),
    },
  );
  return serve(t, server, socket);
}

async function serve(t: Test, server: grpc.Server, socket: string): Promise<void> {
  mkdirSync(dirname(socket), { recursive: true });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${socket}`, grpc.ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
  t.teardown(() => server.forceShutdown());
}
