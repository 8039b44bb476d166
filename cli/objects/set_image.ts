import { CliError } from "../errors.ts";
import { textAt } from "../fields.ts";
import { pointer } from "../write.ts";
import { chosenContainers, type TemplateChange } from "./template.ts";

/** `nginx=nginx:1.21`, `*=nginx:1.21`. */
export function imageChange(words: readonly string[]): TemplateChange {
  const isPair = (word: string): boolean => word.includes("=");
  const pairs = words.filter(isPair).map((word) => {
    const sign = word.indexOf("=");
    const [container, image] = [word.slice(0, sign), word.slice(sign + 1)];
    if (container === "" || image === "") throw new CliError(`"${word}" is not CONTAINER=IMAGE`);
    return { container, image };
  });
  if (pairs.length === 0) throw new CliError("say which image to set, as CONTAINER=IMAGE");
  return {
    did: "image updated",
    objectWords: words.filter((word) => !isPair(word)),
    operations: (places) =>
      pairs.flatMap(({ container, image }) => {
        const chosen = chosenContainers(places, container);
        if (chosen.length === 0) {
          const names = places.map((place) => place.name).join(", ");
          throw new CliError(`unable to find container named "${container}"; the template has ${names}`);
        }
        return chosen
          .filter((place) => textAt(place.container, "image") !== image)
          .map((place) => ({ op: "add" as const, path: pointer([...place.path, "image"]), value: image }));
      }),
  };
}
