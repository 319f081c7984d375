/** Generates docs/reference/api/tollgate.md: the names of each subpath of `tollgate`, with links to their declarations. */
import { readFileSync } from "node:fs"
import { onePackage } from "../publishedPackages.ts"

/** Where a name is declared. */
export interface DocumentedName {
  readonly name: string
  readonly link: string
}

const describeSource = (source: string): string =>
  (/^\/\*\*\n \* `[^`]+`: (.*)\n \*\//.exec(readFileSync(source, "utf8"))?.[1] ?? "").replace(/^./, (first) =>
    first.toUpperCase()
  )

/** `listNames` returns the names that a source exports. */
export const generateOnePackagePage = (listNames: (source: string) => ReadonlyArray<DocumentedName>): string => {
  const sections = onePackage.sources.map((source, index) => {
    const names = listNames(source).map(({ name, link }) => `[\`${name}\`](${link})`)
    return [`## ${onePackage.specifiers[index]}`, describeSource(source), names.join(", ")].join("\n\n")
  })
  return [
    "# The package tollgate",
    "The names of `tollgate`, by subpath. A name leads to its declaration. It is the same in `tollgate`, without what needs Effect: types are plain, results are promises, and a store is not a layer.",
    ...sections
  ].join("\n\n")
}
