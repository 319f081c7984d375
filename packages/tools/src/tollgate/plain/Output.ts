/** The files that are written, one for the declarations of each package. */

interface File {
  /** What is imported of each module. */
  readonly imports: Map<string, Set<string>>
  readonly declarations: Array<string>
  readonly names: Set<string>
}

/** The file and the name of a declaration. */
export interface Place {
  readonly file: string
  readonly name: string
}

export class Output {
  readonly files = new Map<string, File>()
  /** The file that is being written. */
  #file = ""

  get #current(): File {
    const file = this.files.get(this.#file) ?? { imports: new Map(), declarations: [], names: new Set<string>() }
    this.files.set(this.#file, file)
    return file
  }

  /** Writes to a file, and goes on with the present one afterwards. */
  within<A>(file: string, write: () => A): A {
    const before = this.#file
    this.#file = file
    try {
      return write()
    } finally {
      this.#file = before
    }
  }

  /** Takes a name for a declaration of the file, with a number if another one has it. */
  takeName(wanted: string): Place {
    const { names } = this.#current
    let name = wanted
    for (let count = 2; names.has(name); count++) name = `${wanted}${count}`
    names.add(name)
    return { file: this.#file, name }
  }

  declare(text: string): void {
    this.#current.declarations.push(text)
  }

  import(module: string, clause: string): void {
    const { imports } = this.#current
    imports.set(module, (imports.get(module) ?? new Set()).add(clause))
  }

  /** The name of a declaration in the file, which imports it if it is in another one. */
  use({ file, name }: Place): string {
    if (file === this.#file) return name
    const isTaken = this.#current.names.has(name)
    const ownName = isTaken ? `${name}Of${file}` : name
    this.import(`./${file}.js`, isTaken ? `${name} as ${ownName}` : name)
    return ownName
  }
}
