/**
 * One client beside the manager: `node watcher.ts KUBECONFIG RUN`. It watches all pods of the run as JSON and reads each that
 * changed, as a kubelet does before it reports and monitoring does all day. Ends with its standard input.
 */
import { Cache, nullLog, seededRandom, startInformer, systemClock } from "../../kube/index.ts";
import type { PodObject } from "../../sandbox/index.ts";
import { connect } from "../connection.ts";
import { BENCH_LABEL, podObjects } from "../resources.ts";

// From the beginning: a server that does not answer keeps nobody here.
process.stdin.on("end", () => process.exit(0)).resume();

const [kubeconfig = "", run = ""] = process.argv.slice(2);
const clock = systemClock;
const random = seededRandom(process.pid);
const { client } = await connect({ clock, random }, kubeconfig);
const cache = new Cache<PodObject>({ identify: podObjects.codec.identify });
cache.subscribe(({ type, object }) => {
  if (type === "removed") return;
  const { namespace = "", name = "" } = object.metadata;
  // A pod that is gone, or a server that is going: there is nobody to tell.
  client.get(podObjects, { namespace, name }).catch(() => undefined);
});
const informer = startInformer({
  client,
  resource: podObjects,
  cache,
  labelSelector: `${BENCH_LABEL}=${run}`,
  clock,
  random,
  log: nullLog,
});
await informer.synced;
process.stdout.write("watching\n");
