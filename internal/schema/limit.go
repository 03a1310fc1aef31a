package schema

// Limits of schemas and values; the package comment lists them. All are far
// above what a legitimate tool needs.
const (
	maxSchemaBytes  = 256 << 10
	maxSchemaLevels = 64
	maxValueLevels  = 128

	// v5 compares each subschema of a 2020-12 schema with every other.
	maxSubschemas = 2000
	// v5 stores the whole address of each subschema, and repeats it in each
	// error: one long name above a thousand subschemas makes a thousand long
	// addresses.
	maxAddressBytes    = 4 << 10
	maxAllAddressBytes = 1 << 20

	maxEnum           = 1000
	maxPatternBytes   = 4 << 10
	maxPatternProgram = 100_000 // instructions of all patterns of a schema together
	maxPatternWork    = 50_000  // steps to parse the patterns, each of which is parsed four times

	// maxWarnings is how many parts that are not judged are reported.
	maxWarnings = 20

	// Limits of the cost of validating a whole value, in the units of the
	// meter.
	maxAllEvaluations = 10_000_000 // half a second in the text judge
	maxProgram        = 50_000_000 // half a second in the text judge and once more in v5
	maxSteps          = 200_000    // half a second and 200 MB in v5

	// A task within these limits is light: it takes some tens of milliseconds
	// and never waits for another task.
	lightEvaluations = maxAllEvaluations / 4
	lightProgram     = maxProgram / 10
	lightSteps       = maxSteps / 10
	lightText        = 1 << 20 // bytes

	// maxInteger is the largest integer that v5 supports on every machine.
	maxInteger = 1<<31 - 1
)
