/** The runtime's image service as pulls need it. */
import { methods } from "../../proto/cri/index.ts";
import type { CriClient } from "../cri/client.ts";
import { AgentError } from "../errors.ts";
import type { RuntimeFinder } from "../runtime_socket/finder.ts";
import type { Login } from "./docker_config.ts";

export interface ImageService {
  /** Why there is no runtime; undefined while there is one. */
  readonly missing: string | undefined;
  /** The runtime's id of an image that is on the node. Throws AgentError. */
  present(reference: string, signal: AbortSignal): Promise<string | undefined>;
  /** Throws AgentError. */
  pull(request: PullRequest, signal: AbortSignal): Promise<void>;
}

export interface PullRequest {
  readonly reference: string;
  readonly login: Login | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

export class CriImages implements ImageService {
  readonly #finder: Pick<RuntimeFinder, "current" | "reason">;

  constructor(finder: Pick<RuntimeFinder, "current" | "reason">) {
    this.#finder = finder;
  }

  get missing(): string | undefined {
    return this.#finder.current ? undefined : this.#finder.reason;
  }

  async present(reference: string, signal: AbortSignal): Promise<string | undefined> {
    const request = { image: { image: reference } };
    const { image } = await this.#client().call(methods.ImageStatus, request, { signal });
    return image?.id || undefined;
  }

  async pull(
    { reference, login, labels, annotations, timeoutMs }: PullRequest,
    signal: AbortSignal,
  ): Promise<void> {
    const auth = login && {
      username: login.username,
      password: login.password,
      identity_token: login.identityToken ?? "",
      registry_token: login.registryToken ?? "",
    };
    const request = { image: { image: reference }, auth, sandbox_config: { labels, annotations } };
    await this.#client().call(methods.PullImage, request, { timeoutMs: timeoutMs + 1000, signal });
  }

  #client(): CriClient {
    const { current, reason } = this.#finder;
    if (!current) throw new AgentError("Unavailable", reason);
    return current.client;
  }
}
