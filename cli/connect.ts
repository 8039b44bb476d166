import type { Connection, ConnectRequest } from "./command.ts";
export async function connect(_request: ConnectRequest): Promise<Connection> {
  throw new Error("not yet");
}
