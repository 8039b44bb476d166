/** Plain connections that end with their client. */
import type { Socket } from "node:net";
import { type ChannelCredentials, credentials } from "@grpc/grpc-js";

/**
 * The library leaves a connection open on which the peer has not said a word of HTTP/2 yet, also when its client is
 * closed: a runtime that hangs would cost a file descriptor with each look for it. The connector is called with the end.
 */
export function connectionCredentials(): ChannelCredentials {
  const plain = credentials.createInsecure();
  const createConnector = plain._createSecureConnector.bind(plain);
  plain._createSecureConnector = (...given) => {
    const connector = createConnector(...given);
    const open = new Set<Socket>();
    return {
      ...connector,
      connect(socket) {
        open.add(socket);
        socket.once("close", () => open.delete(socket));
        return connector.connect(socket);
      },
      destroy() {
        connector.destroy();
        for (const socket of open) socket.destroy();
      },
    };
  };
  return plain;
}
