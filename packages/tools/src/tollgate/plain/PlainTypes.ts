/**
 * Writes the types of `tollgate`: those of the packages inside, as plain declarations without Effect.
 *
 * A declaration keeps its text. What it takes from Effect, such as the type of a schema, is replaced by what it is. What only
 * a program with Effect can use, such as a layer, is left out: a required field becomes `unknown`, an optional one disappears.
 */
import ts from "typescript5"
import { writeAugmentations } from "./augmentations.ts"
import type { Context } from "./Context.ts"
import { printType } from "./compilerTypes.ts"
import { declare, writeTypeOfValue } from "./declarations.ts"
import { notWhole, plainOfEffect } from "./exceptions.ts"
import { writeStaticMethods } from "./members.ts"
import { Origins } from "./Origins.ts"
import { Output, type Place } from "./Output.ts"
import { renderType } from "./writtenTypes.ts"

export class PlainTypes implements Context {
  readonly checker: ts.TypeChecker
  readonly origins: Origins
  readonly output = new Output()
  readonly objects = new Set<string>()
  readonly printing: Array<ts.Type> = []
  readonly #isForComparison: boolean
  readonly #written = new Map<ts.Symbol, Place>()
  /** The type aliases that are being looked at. */
  readonly #checking = new Set<ts.Node>()
  readonly #augmented = new Set<ts.SourceFile>()

  /** `isForComparison` takes the declarations that are not whole from the packages, so that all others can be compared. */
  constructor(checker: ts.TypeChecker, packages: string, isForComparison = false) {
    this.checker = checker
    this.origins = new Origins(checker, packages)
    this.#isForComparison = isForComparison
  }

  /** Writes a declaration, once, and returns its file and name; undefined if only a program with Effect can use it. */
  write(symbol: ts.Symbol): Place | undefined {
    const written = this.#written.get(symbol)
    if (written !== undefined) return written
    const { origins, output } = this
    const [first] = origins.declarationsOf(symbol)
    if (first === undefined || !(origins.isOurs(first) || origins.isEffect(first))) return undefined
    return output.within(origins.packageOf(first), () => {
      if (!this.#isPlain(symbol, first)) return undefined
      const place = output.takeName(symbol.name)
      this.#written.set(symbol, place)
      this.#augment(first.getSourceFile())
      output.declare(
        this.#isForComparison && notWhole.has(place.name)
          ? this.#declareAlias(first, place.name)
          : declare(this, symbol, place.name)
      )
      return place
    })
  }

  refer(symbol: ts.Symbol): string | undefined {
    const place = this.write(symbol)
    return place && this.output.use(place)
  }

  render(node: ts.TypeNode): string | undefined {
    return renderType(this, node)
  }

  print(type: ts.Type, at: ts.Node): string | undefined {
    return printType(this, type, at)
  }

  /** Whether a declaration can be written as it is, with what it takes from Effect replaced. */
  #isPlain(symbol: ts.Symbol, node: ts.Declaration): boolean {
    const { origins } = this
    if (origins.isEffect(node)) return plainOfEffect.has(symbol.name)
    if (ts.isInterfaceDeclaration(node) || ts.isFunctionDeclaration(node)) return true
    if (ts.isTypeAliasDeclaration(node))
      return node.typeParameters === undefined ? this.#hasPlainPart(node) : !origins.mentionsEffect(node)
    if (ts.isClassDeclaration(node)) return !origins.isService(symbol, node) || writeStaticMethods(this, node) !== ""
    return ts.isVariableDeclaration(node) && writeTypeOfValue(this, node) !== undefined
  }

  /** One that refers to itself is plain if the rest of it is. */
  #hasPlainPart(node: ts.TypeAliasDeclaration): boolean {
    if (this.#checking.has(node)) return true
    this.#checking.add(node)
    const text = this.render(node.type)
    this.#checking.delete(node)
    return text !== undefined
  }

  #augment(file: ts.SourceFile): void {
    if (this.origins.isEffect(file) || this.#augmented.has(file)) return
    this.#augmented.add(file)
    writeAugmentations(this, file)
  }

  #declareAlias(node: ts.Declaration, name: string): string {
    const path = node.getSourceFile().fileName.replace(/\.d\.ts$/, ".js")
    return `import type { ${name} } from "${path}"\nexport type { ${name} }`
  }
}
