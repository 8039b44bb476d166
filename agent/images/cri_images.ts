/** The runtime's image service as pulls need it. */
import { methods } from "../../proto/cri/index.ts";
import type { CriClient } from "../cri/client.ts";
import type { ImageService } from "./pull.ts";

export function criImages(client: CriClient): ImageService {
  return {
    async present(reference, signal) {
      const { image } = await client.call(methods.ImageStatus, { image: { image: reference } }, { signal });
      return image?.id || undefined;
    },
    async pull({ reference, login, labels, annotations, timeoutMs }, signal) {
      const auth = login && {
        username: login.username,
        password: login.password,
        identity_token: login.identityToken ?? "",
        registry_token: login.registryToken ?? "",
      };
      const request = { image: { image: reference }, auth, sandbox_config: { labels, annotations } };
      await client.call(methods.PullImage, request, { timeoutMs: timeoutMs + 1000, signal });
    },
  };
}
