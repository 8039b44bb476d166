/** Sockets that speak gRPC and still are no runtime that the agent could use. */
import { mkdirSync } from "node:fs";
import { createServer, type Socket } from "node:net";
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

/** Listens on a unix socket; each connection is handed over, and cut when the returned function is called. */
export async function startRawSocket(
  t: Test,
  path: string,
  talk: (connection: Socket) => void,
): Promise<() => Promise<void>> {
  const connections = new Set<Socket>();
  const server = createServer((connection) => {
    connections.add(connection);
    connection.on("error", () => undefined);
    connection.on("close", () => connections.delete(connection));
    talk(connection);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const stop = async (): Promise<void> => {
    for (const connection of connections) connection.destroy();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  t.teardown(stop);
  return stop;
}

/** A frame of HTTP/2, well formed or not. */
export function http2Frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const frame = Buffer.alloc(9 + payload.byteLength);
  frame.writeUIntBE(payload.byteLength, 0, 3);
  frame.writeUInt8(type, 3);
  frame.writeUInt8(flags, 4);
  frame.writeUInt32BE(stream, 5);
  frame.set(payload, 9);
  return frame;
}
