/** Does what a page asks for: it runs the command that the page showed, in this process, over the page's connection. */
import type { Call, ClusterAccess } from "../../command.ts";
import type { Io } from "../../io.ts";
import { revisionsOf } from "../../rollout/revisions.ts";
import { workloadNamed } from "../../rollout/workloads.ts";
import { readTarget, type Target } from "../../target.ts";
import { shownText } from "../../why/causes/shown_text.ts";
import { keptClient } from "../kept_client.ts";
import { type Refusal, readJson, refusal } from "../refusals.ts";
import {
  type ActionAnswer,
  type ActionRequest,
  isActionRequest,
  type RevisionChoice,
  wordsOf,
} from "../shared/actions.ts";
import { actionsFor } from "./action_table.ts";

export interface ActingOptions {
  readonly access: ClusterAccess;
  readonly call: Pick<Call, "host" | "runLine"> & { readonly io: Pick<Io, "signal"> };
  /** A workload that is listed; undefined when there is none of that key. */
  targetOf(workload: string): Promise<Target | undefined>;
  /** Whether a pod, `namespace/name`, is one that the page shows for the workload. */
  hasPod(workload: string, pod: string): Promise<boolean>;
}

export class Acting {
  readonly #options: ActingOptions;
  /** Keys of the workloads that something is done to. */
  readonly #busy = new Set<string>();

  constructor(options: ActingOptions) {
    this.#options = options;
  }

  /** `body`: JSON, of whatever form. */
  async act(body: string): Promise<ActionAnswer | Refusal> {
    const request = readJson(body);
    if (!isActionRequest(request)) return refusal(400, "this is no action that the page knows");
    const { workload } = request;
    if (this.#busy.has(workload))
      return refusal(409, "another action on this workload has not ended: wait for its answer");
    this.#busy.add(workload);
    try {
      return (await this.#refusalOf(request)) ?? (await this.#run(request));
    } finally {
      this.#busy.delete(workload);
    }
  }

  /** Newest first; none for what keeps no revisions. Throws KubeError when they cannot be read. */
  async revisions(key: string): Promise<RevisionChoice[]> {
    const { access, targetOf } = this.#options;
    const target = await targetOf(key);
    const workload = target && workloadNamed(target.type);
    if (target === undefined || workload === undefined) return [];
    const kept = await revisionsOf(access, workload, await readTarget(access, target));
    const { images } = await workload.revised();
    return kept.reverse().map(({ number, spec, changeCause = "" }) => {
      const words = [...images(spec), changeCause].filter((word) => word !== "");
      return { number, text: shownText(words.join(" · ")) };
    });
  }

  async #refusalOf(request: ActionRequest): Promise<Refusal | undefined> {
    const { action, workload } = request;
    const type = (await this.#options.targetOf(workload))?.type;
    if (type === undefined) return refusal(404, "there is no such workload");
    if (!actionsFor(type).includes(action)) return refusal(422, `${action} does not fit a ${type.kind}`);
    if (request.action !== "recreate" || (await this.#options.hasPod(workload, request.pod)))
      return undefined;
    return refusal(404, "the workload has no such pod");
  }

  /** The connection is that of the page: another context may have become the current one since. */
  async #run(request: ActionRequest): Promise<ActionAnswer> {
    const { access, call } = this.#options;
    const said: string[] = [];
    const sink = { write: (text: string) => said.push(text) };
    const screen = { isTTY: false, columns: 80, rows: 24 };
    const io: Io = { stdout: sink, stderr: sink, env: {}, ...screen, signal: call.io.signal };
    const client = keptClient(access.client);
    const connect = async () => ({ client, namespace: access.namespace });
    const code = await call.runLine(wordsOf(request), io, { ...call.host, connect });
    return { code, text: said.join("") };
  }
}
