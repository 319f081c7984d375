/** What the parts that write types share, and call of each other. */
import type ts from "typescript5"
import type { Origins } from "./Origins.ts"
import type { Output } from "./Output.ts"

export interface Context {
  readonly checker: ts.TypeChecker
  readonly origins: Origins
  readonly output: Output
  /** The texts that are one object, which an interface can have as its members. */
  readonly objects: Set<string>
  /** Types that are being printed: one that contains itself cannot be. */
  readonly printing: Array<ts.Type>
  /** The name of a declaration in the file that is written; undefined if only a program with Effect can use it. */
  refer(symbol: ts.Symbol): string | undefined
  /** A type as it is written, with what needs Effect replaced; undefined if nothing is left. */
  render(node: ts.TypeNode): string | undefined
  /** A type as the compiler knows it; undefined if only a program with Effect can use it. */
  print(type: ts.Type, at: ts.Node): string | undefined
}
