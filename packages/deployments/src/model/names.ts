/**
 * Names of projects and branches.
 */
import { pathName } from "@tollgate/core/module"
import { Schema } from "effect"

/** The name of a project, unique in its account. */
export const ProjectName = pathName.pipe(Schema.brand("ProjectName"))
export type ProjectName = typeof ProjectName.Type

/**
 * A branch name. It must not contain control characters, or invisible characters that make two names look
 * alike, such as bidirectional overrides and zero-width characters.
 */
export const BranchName = Schema.String.pipe(
  Schema.check(
    Schema.isPattern(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115F\u1160\u3164\uFFA0]{1,255}$/u, {
      expected: "1 to 255 characters without control or invisible characters"
    })
  ),
  Schema.brand("BranchName")
)
export type BranchName = typeof BranchName.Type
