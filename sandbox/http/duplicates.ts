/** Members that a JSON text names twice; JSON.parse keeps the last one silently. */

/** Paths like `spec.containers[0].image`, in the order of the text. The text must be valid JSON. */
export function duplicateFields(text: string): string[] {
  const scanner = new Scanner(text);
  scanner.value("");
  return scanner.found;
}

class Scanner {
  readonly found: string[] = [];
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(path: string): void {
    const letter = this.#next();
    if (letter === "{") this.#object(path);
    else if (letter === "[") this.#array(path);
    else if (letter === '"') this.#string();
    else while (this.#at < this.#text.length && !",]} \n\r\t".includes(this.#peek())) this.#at += 1;
  }

  #object(path: string): void {
    const seen = new Set<string>();
    this.#at += 1;
    for (let letter = this.#next(); letter === '"' || letter === ","; letter = this.#next()) {
      if (letter === ",") {
        this.#at += 1;
        continue;
      }
      const start = this.#at;
      this.#string();
      const name: unknown = JSON.parse(this.#text.slice(start, this.#at));
      const key = String(name);
      const inner = path === "" ? key : `${path}.${key}`;
      if (seen.has(key)) this.found.push(inner);
      seen.add(key);
      this.#next();
      this.#at += 1;
      this.value(inner);
    }
    this.#at += 1;
  }

  #array(path: string): void {
    this.#at += 1;
    let index = 0;
    for (let letter = this.#next(); letter !== "]" && letter !== ""; letter = this.#next()) {
      if (letter === ",") this.#at += 1;
      else {
        this.value(`${path}[${index}]`);
        index += 1;
      }
    }
    this.#at += 1;
  }

  #string(): void {
    this.#at += 1;
    while (this.#at < this.#text.length && this.#peek() !== '"') {
      this.#at += this.#peek() === "\\" ? 2 : 1;
    }
    this.#at += 1;
  }

  #peek(): string {
    return this.#text.charAt(this.#at);
  }

  /** The next character that is not white space; stays before it. */
  #next(): string {
    while (" \n\r\t".includes(this.#peek()) && this.#at < this.#text.length) this.#at += 1;
    return this.#peek();
  }
}
