/**
 * Plans what a page asks about, as `refit plan` does: from what the server holds, with requests that only read. Nothing is sent that could
 * change something, not even as a dry run of the server.
 */
import { parseFeatureGates } from "../../../controller/index.ts";
import type { Client } from "../../../kube/index.ts";
import type { ClusterAccess, Host } from "../../command.ts";
import { CliError, describeError } from "../../errors.ts";
import { isOfKind, objectName } from "../../resource_types.ts";
import type { Target } from "../../target.ts";
import { shownText } from "../../why/causes/shown_text.ts";
import { manifestItem, noPlans, type PlanItem, storedItem } from "../../why/plan_items.ts";
import { keptClient } from "../kept_client.ts";
import { type Refusal, readJson, refusal } from "../refusals.ts";
import { isPlanRequest, type PlanAnswer, type PlanRefusal, type PlanRequest } from "../shared/plans.ts";
import { boundedManifest, refuseManyPods } from "./bounded_manifest.ts";
import { planAnswerItem } from "./plan_answer.ts";

export interface PlanningOptions {
  readonly access: ClusterAccess;
  readonly host: Pick<Host, "clock" | "random">;
  /** A workload that is listed; undefined when there is none of that key. */
  targetOf(workload: string): Promise<Target | undefined>;
}

/** A plan lists pods, as `why` does. */
const atATime = 2;
const longestRefusal = 1_000;

export class Planning {
  readonly #options: PlanningOptions;
  #running = 0;

  constructor({ access, ...options }: PlanningOptions) {
    this.#options = { ...options, access: { ...access, client: readingClient(access.client) } };
  }

  /** `body`: JSON, of whatever form. */
  async plan(body: string): Promise<PlanAnswer | PlanRefusal | Refusal> {
    const request = readJson(body);
    if (!isPlanRequest(request)) return refusal(400, "this is no request for a plan that the page makes");
    if (this.#running >= atATime) return refusal(503, "other plans are being made: ask again in a moment");
    this.#running++;
    try {
      return await this.#answer(request);
    } catch (error) {
      return { refusal: shownText(describeError(error).replace(/^error: /, ""), longestRefusal) };
    } finally {
      this.#running--;
    }
  }

  async #answer({ workload, manifest }: PlanRequest): Promise<PlanAnswer | Refusal> {
    const { access, host, targetOf } = this.#options;
    const target = await targetOf(workload);
    if (target === undefined) return refusal(404, "there is no such workload");
    const item =
      manifest === undefined ? await storedItem(access, target) : await itemOf(access, target, manifest);
    const { planner, subject } = item;
    const forecast = await planner.forecast({ access, subject, gates: parseFeatureGates(), host });
    return planAnswerItem(target, forecast, host.clock.now());
  }
}

/** A manifest without a namespace is one of the workload's. Throws CliError when it is of another object. */
async function itemOf(access: ClusterAccess, target: Target, text: string): Promise<PlanItem> {
  const { type, ref } = target;
  const manifest = boundedManifest(text);
  const placed = { ...access, namespace: ref.namespace ?? access.namespace };
  const item = await manifestItem(placed, manifest, "the manifest");
  if (item === undefined) throw new CliError(`the manifest: ${noPlans}`);
  refuseManyPods(manifest, item.subject.stored, text.length);
  const { type: given, ref: named } = item.target;
  if (isOfKind(type)(given) && named.name === ref.name && named.namespace === ref.namespace) return item;
  const [theirs, own] = [whole(item.target), whole(target)];
  throw new CliError(
    `the manifest is of ${theirs}, and this is the view of ${own}: open that workload to plan it`,
  );
}

const whole = ({ type, ref: { name, namespace } }: Target): string =>
  `${objectName(type, name)}${namespace === undefined ? "" : ` in ${namespace}`}`;

/** What a plan asks of a server can change nothing. */
function readingClient(client: Client): Client {
  const refuse = async (): Promise<never> => {
    throw new CliError("a plan writes nothing");
  };
  return {
    ...keptClient(client),
    create: refuse,
    replace: refuse,
    patch: refuse,
    delete: refuse,
    request: (method, path, body, options) =>
      method === "GET" ? client.request(method, path, body, options) : refuse(),
  };
}
