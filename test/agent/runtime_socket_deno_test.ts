import { socketRows } from "./runtime_socket.ts";

await socketRows("deno");
