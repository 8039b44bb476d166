/** A registry over HTTP on loopback with one image, which asks for a token as public registries do. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { BaseImage } from "./base_image_builder.ts";

export interface FakeRegistry {
  /** `127.0.0.1:PORT/REPOSITORY:TAG`. */
  readonly image: string;
  /** Paths that were asked for, in order. */
  readonly asked: readonly string[];
  /** Replaces the bytes that are sent for a digest. */
  readonly tampered: Map<string, Uint8Array>;
  close(): Promise<void>;
}

export interface RegistryOptions {
  readonly repository?: string;
  readonly tag?: string;
  /** No token is given to anybody. */
  readonly isPrivate?: boolean;
}

export async function fakeImageRegistry(
  { blobs, root }: BaseImage,
  { repository = "team/node", tag = "24", isPrivate = false }: RegistryOptions = {},
): Promise<FakeRegistry> {
  const asked: string[] = [];
  const tampered = new Map<string, Uint8Array>();
  const send = (response: ServerResponse, digest: string, type: string): void => {
    const bytes = tampered.get(digest) ?? blobs.get(digest)?.bytes;
    if (bytes === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": type }).end(bytes);
  };
  const types = new Map(
    [...blobs.values()].map(({ bytes, digest }) => [
      digest,
      mediaTypeIn(bytes) ?? "application/octet-stream",
    ]),
  );
  const server = createServer((request, response) => {
    const { pathname, searchParams, host } = new URL(request.url ?? "/", `http://${request.headers.host}`);
    asked.push(pathname);
    if (pathname === "/token") {
      const isAsked = searchParams.get("scope") === `repository:${repository}:pull` && !isPrivate;
      response.writeHead(isAsked ? 200 : 403, { "content-type": "application/json" });
      response.end(JSON.stringify(isAsked ? { token: "let-me-in" } : {}));
      return;
    }
    if (request.headers.authorization !== "Bearer let-me-in") {
      const challenge = `Bearer realm="http://${host}/token",service="fake",scope="repository:${repository}:pull"`;
      response.writeHead(401, { "www-authenticate": challenge }).end();
      return;
    }
    const reference = pathname.slice(pathname.lastIndexOf("/") + 1);
    if (!pathname.startsWith(`/v2/${repository}/`)) response.writeHead(404).end();
    else if (reference === tag) send(response, root.digest, root.mediaType);
    else send(response, reference, types.get(reference) ?? "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    image: `127.0.0.1:${port}/${repository}:${tag}`,
    asked,
    tampered,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function mediaTypeIn(bytes: Uint8Array): string | undefined {
  try {
    const { mediaType }: { mediaType?: string } = JSON.parse(new TextDecoder().decode(bytes));
    return mediaType;
  } catch {
    return undefined;
  }
}
