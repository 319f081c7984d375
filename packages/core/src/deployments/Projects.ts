/**
 * The list of projects. A project needs no explicit creation: the upload of its first source adds it.
 */
import { Context, Effect, Layer } from "effect"
import { implementOperations } from "../api/implementOperations.ts"
import type { Operations } from "../api/Operations.ts"
import { toPage } from "../schema/Page.ts"
import * as Partition from "../store/Partition.ts"
import { Store } from "../store/Store.ts"
import { byAccount, projects } from "./model/nameRecords.ts"
import { ProjectsApi, type ProjectsMethods } from "./ProjectsApi.ts"

const make = Effect.gen(function* () {
  return Projects.of(
    implementOperations(ProjectsApi, { store: yield* Store })({
      list: Effect.fnUntraced(function* ({ params: { accountName }, query }) {
        const { entries, ...page } = yield* projects.page(Partition.deploymentDirectory, {
          where: [byAccount(accountName)],
          ...query
        })
        const data = entries.map(({ value: { projectName, createdOn } }) => ({ name: projectName, createdOn }))
        return toPage(query, page, data)
      })
    })
  )
})

/**
 * The operation on projects, `list`, which takes one `OperationRequest`. A project is listed while it has a deployment.
 */
export class Projects extends Context.Service<Projects, Operations<typeof ProjectsApi, ProjectsMethods>>()(
  "@tollgate/core/deployments/Projects"
) {
  static readonly layer = Layer.effect(Projects, make)
}
