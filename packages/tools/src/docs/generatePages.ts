/**
 * The generated pages of docs/, by path. `npm run build:docs` writes them. A test fails when one of them does not match
 * the sources.
 */
import { generateApiReference } from "./apiReference.ts"
import { generateErrorsPage } from "./errorsPage.ts"
import { generateEventTypes } from "./eventTypes.ts"
import { generateHttpReference } from "./httpReference.ts"
import { formatPage } from "./markdown.ts"
import { generateMeasurements } from "./measurementsPage.ts"

export const generatePages = (): ReadonlyMap<string, string> => {
  const pages = [
    ["design/measurements.md", generateMeasurements()],
    ["reference/errors.md", generateErrorsPage()],
    ["reference/event-types.md", generateEventTypes()],
    ["reference/http-operations.md", generateHttpReference()],
    ...[...generateApiReference()].map(([name, text]) => [`reference/api/${name}`, text] as const)
  ] as const
  return new Map(pages.map(([path, text]) => [`docs/${path}`, formatPage(text)]))
}
