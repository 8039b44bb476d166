/** Whether a container runs the image that its spec names: runtimes tell names in full, and IDs with a scheme. */
import { familiarImage } from "../../../kube/core/index.ts";

/** Name and tag in their short form: `docker.io/library/nginx` is `nginx:latest`. */
export function imageName(image: string): string {
  try {
    const { name, tag } = familiarImage(image);
    return `${name}:${tag}`;
  } catch {
    return image;
  }
}

export function isDigest(image: string): boolean {
  return image.includes("@");
}

/** Of an image by digest: repository and digest are those of the ID. `docker-pullable://` and the like are cut off. */
export function runsDigest(image: string, imageId: string): boolean {
  const scheme = imageId.indexOf("://");
  const running = scheme < 0 ? imageId : imageId.slice(scheme + 3);
  const [repository = "", digest = ""] = running.split("@");
  const [wantedRepository = "", wantedDigest = ""] = image.split("@");
  return digest === wantedDigest && untagged(repository) === untagged(wantedRepository);
}

function untagged(repository: string): string {
  return repository.replace(/:[^/:]*$/, "");
}
