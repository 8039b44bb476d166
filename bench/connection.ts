/** The bench's own clients of an API server. */
import {
  type Client,
  type Clock,
  createClient,
  createWindow,
  loadCredentials,
  type Random,
  undiciTransport,
} from "../kube/index.ts";
import { BenchError, messageOf } from "./errors.ts";
import { OwnRequests } from "./measure/own_requests.ts";

export interface Connection {
  readonly client: Client;
  /** A client that lets exactly so many requests be in flight. */
  clientOf(inFlight: number): Client;
  /** What all of them have sent. */
  readonly own: OwnRequests;
}

/** Throws BenchError when the kubeconfig cannot be used. */
export async function connect(
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  kubeconfig: string,
): Promise<Connection> {
  const credentials = await loadCredentials({ kubeconfig, env: process.env, clock }).catch(
    (error: unknown) => {
      throw new BenchError(`${kubeconfig}: ${messageOf(error)}`);
    },
  );
  const own = new OwnRequests();
  const base = { credentials, clock, random, userAgent: "refit-bench", metrics: own.metrics };
  const transport = () => undiciTransport({ clock });
  return {
    own,
    client: createClient({ ...base, transport: transport() }),
    clientOf: (inFlight) =>
      createClient({
        ...base,
        transport: transport(),
        window: createWindow({ clock, start: inFlight, min: inFlight, max: inFlight }),
      }),
  };
}
