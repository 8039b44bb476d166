/** An image on several nodes: by an ImagePullJob, beside the same pulls asked of the runtimes at once and by nobody else. */
import { createCriClient } from "../../agent/index.ts";
import { jsonResource, type KubeObject } from "../../kube/index.ts";
import { methods } from "../../proto/cri/index.ts";
import { type Lab, namespace } from "./lab.ts";
import { watchObjects } from "./watched_objects.ts";

export interface Pull {
  readonly round: number;
  readonly nodes: number;
  /** From the creation of the job until its status counts every node. */
  readonly jobMs: number;
  /** PullImage at all nodes at the same time. */
  readonly runtimeMs: number;
}

interface Job extends KubeObject {
  readonly spec?: object;
  readonly status?: { readonly succeeded?: number };
}
const jobs = jsonResource<Job>({
  group: "apps.kruise.io",
  version: "v1beta1",
  plural: "imagepulljobs",
  kind: "ImagePullJob",
  namespaced: true,
});

/** `image` must not be in use; it is removed from the nodes before each pull. */
export async function measurePulls(lab: Lab, image: string, rounds: number): Promise<Pull[]> {
  const { io, client } = lab;
  const { clock } = io;
  const clients = lab.settings.nodes.map(({ socket }) => createCriClient(socket, { clock }));
  const seen = await watchObjects(client, jobs, namespace, io);
  const forget = () => Promise.all(clients.map((cri) => cri.call(methods.RemoveImage, { image: { image } })));
  const pulls: Pull[] = [];
  try {
    for (let round = 1; round <= rounds; round++) {
      io.note(`pull ${round} of ${rounds}`);
      await forget();
      let began = clock.monotonic();
      await Promise.all(clients.map((cri) => cri.call(methods.PullImage, { image: { image } })));
      const runtimeMs = clock.monotonic() - began;
      await forget();
      const name = `bench-agent-${Math.floor(clock.now())}`;
      began = clock.monotonic();
      await client.create(jobs, namespace, {
        apiVersion: "apps.kruise.io/v1beta1",
        kind: "ImagePullJob",
        metadata: { name },
        spec: {
          image,
          parallelism: clients.length,
          completionPolicy: { type: "Always" },
          selector: { names: lab.settings.nodes.map(({ node }) => node) },
        },
      });
      const all = (job: Job): boolean => job.status?.succeeded === clients.length;
      const { at } = await seen.until(name, `pulled to ${clients.length} nodes`, all);
      pulls.push({ round, nodes: clients.length, jobMs: at - began, runtimeMs });
      await client.delete(jobs, { namespace, name });
      await clock.sleep(3_000, io.signal);
    }
    return pulls;
  } finally {
    await seen.stop();
    for (const cri of clients) cri.close();
  }
}
