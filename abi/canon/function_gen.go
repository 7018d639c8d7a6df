// Code generated from wit/ by witgen. DO NOT EDIT.

package canon

// Package is the WIT package of the contract.
const Package = "husk:provider"

// Version is the version of the contract, which the names of a module's
// imports and exports contain.
const Version = "0.2.0"

// PolicyPackage is the WIT package of what modules of the world policy export.
const PolicyPackage = "husk:policy"

// PolicyVersion is the version of what modules of the world policy export, which the names of a module's
// exports contain.
const PolicyVersion = "0.1.0"

// ProgramPackage is the WIT package of what modules of the world program export.
const ProgramPackage = "husk:program"

// ProgramVersion is the version of what modules of the world program export, which the names of a module's
// exports contain.
const ProgramVersion = "0.1.0"

var providerHandshake = Function{
	Interface: "provider", Name: "handshake", Index: 0,
	params: layout{size: 12, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat8}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerParameterize = Function{
	Interface: "provider", Name: "parameterize", Index: 1,
	params: layout{size: 32, align: 4, slots: []slot{{0, flat8}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat32}, {24, flat32}, {28, flat8}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerGetSchema = Function{
	Interface: "provider", Name: "get-schema", Index: 2,
	params: layout{size: 20, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerGetMapping = Function{
	Interface: "provider", Name: "get-mapping", Index: 3,
	params: layout{size: 16, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerGetMappings = Function{
	Interface: "provider", Name: "get-mappings", Index: 4,
	params: layout{size: 8, align: 4, slots: []slot{{0, flat32}, {4, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerCheckConfig = Function{
	Interface: "provider", Name: "check-config", Index: 5,
	params: layout{size: 68, align: 4},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerDiffConfig = Function{
	Interface: "provider", Name: "diff-config", Index: 6,
	params: layout{size: 64, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat32}, {24, flat32}, {28, flat32}, {32, flat32}, {36, flat32}, {40, flat32}, {44, flat32}, {48, flat32}, {52, flat32}, {56, flat32}, {60, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerConfigure = Function{
	Interface: "provider", Name: "configure", Index: 7,
	params: layout{size: 40, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat32}, {24, flat32}, {28, flat32}, {32, flat32}, {36, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerCheck = Function{
	Interface: "provider", Name: "check", Index: 8,
	params: layout{size: 68, align: 4},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerDiff = Function{
	Interface: "provider", Name: "diff", Index: 9,
	params: layout{size: 64, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat32}, {24, flat32}, {28, flat32}, {32, flat32}, {36, flat32}, {40, flat32}, {44, flat32}, {48, flat32}, {52, flat32}, {56, flat32}, {60, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerCreate = Function{
	Interface: "provider", Name: "create", Index: 10,
	params: layout{size: 48, align: 8, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat32}, {24, flat32}, {28, flat32}, {32, flatFloat}, {40, flat8}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerRead = Function{
	Interface: "provider", Name: "read", Index: 11,
	params: layout{size: 64, align: 8, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat32}, {24, flat32}, {28, flat32}, {32, flat8}, {36, flat32}, {40, flat32}, {44, flat8}, {48, flat32}, {52, flat32}, {56, flatFloat}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerUpdate = Function{
	Interface: "provider", Name: "update", Index: 12,
	params: layout{size: 80, align: 8},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerDelete = Function{
	Interface: "provider", Name: "delete", Index: 13,
	params: layout{size: 56, align: 8, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat32}, {24, flat32}, {28, flat32}, {32, flat32}, {36, flat32}, {40, flat32}, {44, flat32}, {48, flatFloat}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerList = Function{
	Interface: "provider", Name: "list", Index: 14,
	params: layout{size: 40, align: 8, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat64}, {24, flat64}, {32, flat32}, {36, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerInvoke = Function{
	Interface: "provider", Name: "invoke", Index: 15,
	params: layout{size: 20, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat8}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerStreamInvoke = Function{
	Interface: "provider", Name: "stream-invoke", Index: 16,
	params: layout{size: 20, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat8}}},
	result: layout{size: 80, align: 8},
	fails:  true, payload: 8,
}

var providerStreamNext = Function{
	Interface: "provider", Name: "stream-next", Index: 17,
	params: layout{size: 8, align: 8, slots: []slot{{0, flat64}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerStreamClose = Function{
	Interface: "provider", Name: "stream-close", Index: 18,
	params: layout{size: 8, align: 8, slots: []slot{{0, flat64}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerOpenEphemeral = Function{
	Interface: "provider", Name: "open-ephemeral", Index: 19,
	Since:  "0.2.0",
	params: layout{size: 20, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat8}}},
	result: layout{size: 80, align: 8},
	fails:  true, payload: 8,
}

var providerRenewEphemeral = Function{
	Interface: "provider", Name: "renew-ephemeral", Index: 20,
	Since:  "0.2.0",
	params: layout{size: 16, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}}},
	result: layout{size: 80, align: 8},
	fails:  true, payload: 8,
}

var providerCloseEphemeral = Function{
	Interface: "provider", Name: "close-ephemeral", Index: 21,
	Since:  "0.2.0",
	params: layout{size: 16, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerRunAction = Function{
	Interface: "provider", Name: "run-action", Index: 22,
	Since:  "0.2.0",
	params: layout{size: 20, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat8}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerExists = Function{
	Interface: "provider", Name: "exists", Index: 23,
	Since:  "0.2.0",
	params: layout{size: 56, align: 8, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat32}, {24, flat32}, {28, flat32}, {32, flat8}, {36, flat32}, {40, flat32}, {48, flatFloat}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerCall = Function{
	Interface: "provider", Name: "call", Index: 24,
	params: layout{size: 64, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat32}, {24, flat32}, {28, flat32}, {32, flat32}, {36, flat32}, {40, flat32}, {44, flat32}, {48, flat32}, {52, flat32}, {56, flat8}, {60, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerConstruct = Function{
	Interface: "provider", Name: "construct", Index: 25,
	params: layout{size: 256, align: 8},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var providerCancel = Function{
	Interface: "provider", Name: "cancel", Index: 26,
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var policyHandshake = Function{
	Interface: "policy", Name: "handshake", Index: 0,
	params: layout{size: 8, align: 4, slots: []slot{{0, flat32}, {4, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var policyConfigure = Function{
	Interface: "policy", Name: "configure", Index: 1,
	params: layout{size: 48, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat32}, {24, flat32}, {28, flat32}, {32, flat8}, {36, flat32}, {40, flat32}, {44, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var policyRemediate = Function{
	Interface: "policy", Name: "remediate", Index: 2,
	params: layout{size: 288, align: 8},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var policyAnalyze = Function{
	Interface: "policy", Name: "analyze", Index: 3,
	params: layout{size: 288, align: 8},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var policyAnalyzeStack = Function{
	Interface: "policy", Name: "analyze-stack", Index: 4,
	params: layout{size: 8, align: 4, slots: []slot{{0, flat32}, {4, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var policyCancel = Function{
	Interface: "policy", Name: "cancel", Index: 5,
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var programRun = Function{
	Interface: "program", Name: "run", Index: 0,
	params: layout{size: 56, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat32}, {24, flat32}, {28, flat32}, {32, flat32}, {36, flat32}, {40, flat8}, {44, flat32}, {48, flat32}, {52, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var logWrite = Function{
	Interface: "log", Name: "write", Index: 0,
	params: layout{size: 24, align: 4, slots: []slot{{0, flat8}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat8}}},
}

var controlCancelled = Function{
	Interface: "control", Name: "cancelled", Index: 0,
	result: layout{size: 1, align: 1, slots: []slot{{0, flat8}}},
}

var httpSend = Function{
	Interface: "http", Name: "send", Index: 0,
	params: layout{size: 40, align: 8, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat32}, {24, flat32}, {28, flat32}, {32, flat64}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var httpOpen = Function{
	Interface: "http", Name: "open", Index: 1,
	params: layout{size: 40, align: 8, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat32}, {24, flat32}, {28, flat32}, {32, flat64}}},
	result: layout{size: 80, align: 8},
	fails:  true, payload: 8,
}

var httpWrite = Function{
	Interface: "http", Name: "write", Index: 2,
	params: layout{size: 16, align: 8, slots: []slot{{0, flat64}, {8, flat32}, {12, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var httpFinish = Function{
	Interface: "http", Name: "finish", Index: 3,
	params: layout{size: 8, align: 8, slots: []slot{{0, flat64}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var httpRead = Function{
	Interface: "http", Name: "read", Index: 4,
	params: layout{size: 16, align: 8, slots: []slot{{0, flat64}, {8, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var httpClose = Function{
	Interface: "http", Name: "close", Index: 5,
	params: layout{size: 8, align: 8, slots: []slot{{0, flat64}}},
}

var httpBegin = Function{
	Interface: "http", Name: "begin", Index: 6,
	Since:  "0.2.0",
	params: layout{size: 48, align: 8, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat32}, {24, flat32}, {28, flat32}, {32, flat64}, {40, flat8}}},
	result: layout{size: 80, align: 8},
	fails:  true, payload: 8,
}

var httpStatus = Function{
	Interface: "http", Name: "status", Index: 7,
	Since:  "0.2.0",
	params: layout{size: 8, align: 8, slots: []slot{{0, flat64}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var tcpConnect = Function{
	Interface: "tcp", Name: "connect", Index: 0,
	params: layout{size: 24, align: 8, slots: []slot{{0, flat32}, {4, flat32}, {8, flat16}, {16, flat64}}},
	result: layout{size: 80, align: 8},
	fails:  true, payload: 8,
}

var tcpRead = Function{
	Interface: "tcp", Name: "read", Index: 1,
	params: layout{size: 16, align: 8, slots: []slot{{0, flat64}, {8, flat32}, {12, flat8}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var tcpWrite = Function{
	Interface: "tcp", Name: "write", Index: 2,
	params: layout{size: 16, align: 8, slots: []slot{{0, flat64}, {8, flat32}, {12, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var tcpCloseWrite = Function{
	Interface: "tcp", Name: "close-write", Index: 3,
	params: layout{size: 8, align: 8, slots: []slot{{0, flat64}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var tcpClose = Function{
	Interface: "tcp", Name: "close", Index: 4,
	params: layout{size: 8, align: 8, slots: []slot{{0, flat64}}},
}

var tcpBegin = Function{
	Interface: "tcp", Name: "begin", Index: 5,
	Since:  "0.2.0",
	params: layout{size: 24, align: 8, slots: []slot{{0, flat32}, {4, flat32}, {8, flat16}, {16, flat64}}},
	result: layout{size: 80, align: 8},
	fails:  true, payload: 8,
}

var tcpResolve = Function{
	Interface: "tcp", Name: "resolve", Index: 6,
	Since:  "0.2.0",
	params: layout{size: 12, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat16}}},
	result: layout{size: 80, align: 8},
	fails:  true, payload: 8,
}

var tcpStatus = Function{
	Interface: "tcp", Name: "status", Index: 7,
	Since:  "0.2.0",
	params: layout{size: 8, align: 8, slots: []slot{{0, flat64}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var filesSetMode = Function{
	Interface: "files", Name: "set-mode", Index: 0,
	params: layout{size: 12, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var filesGetMode = Function{
	Interface: "files", Name: "get-mode", Index: 1,
	params: layout{size: 8, align: 4, slots: []slot{{0, flat32}, {4, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var assetsOpen = Function{
	Interface: "assets", Name: "open", Index: 0,
	params: layout{size: 12, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat8}}},
	result: layout{size: 80, align: 8},
	fails:  true, payload: 8,
}

var assetsRead = Function{
	Interface: "assets", Name: "read", Index: 1,
	params: layout{size: 16, align: 8, slots: []slot{{0, flat64}, {8, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var assetsClose = Function{
	Interface: "assets", Name: "close", Index: 2,
	params: layout{size: 8, align: 8, slots: []slot{{0, flat64}}},
}

var kvGet = Function{
	Interface: "kv", Name: "get", Index: 0,
	params: layout{size: 8, align: 4, slots: []slot{{0, flat32}, {4, flat32}}},
	result: layout{size: 80, align: 8},
	fails:  true, payload: 8,
}

var kvPut = Function{
	Interface: "kv", Name: "put", Index: 1,
	params: layout{size: 32, align: 8, slots: []slot{{0, flat32}, {4, flat32}, {8, flat8}, {12, flat32}, {16, flat32}, {24, flat64}}},
	result: layout{size: 80, align: 8},
	fails:  true, payload: 8,
}

var kvKeys = Function{
	Interface: "kv", Name: "keys", Index: 2,
	params: layout{size: 20, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var monitorRegisterResource = Function{
	Interface: "monitor", Name: "register-resource", Index: 0,
	params: layout{size: 232, align: 8},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var monitorRegisterOutputs = Function{
	Interface: "monitor", Name: "register-outputs", Index: 1,
	params: layout{size: 16, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var monitorReadResource = Function{
	Interface: "monitor", Name: "read-resource", Index: 2,
	params: layout{size: 224, align: 8},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var monitorInvoke = Function{
	Interface: "monitor", Name: "invoke", Index: 3,
	params: layout{size: 56, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat32}, {24, flat32}, {28, flat32}, {32, flat32}, {36, flat32}, {40, flat32}, {44, flat32}, {48, flat32}, {52, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var monitorCall = Function{
	Interface: "monitor", Name: "call", Index: 4,
	params: layout{size: 64, align: 4, slots: []slot{{0, flat32}, {4, flat32}, {8, flat32}, {12, flat32}, {16, flat32}, {20, flat32}, {24, flat32}, {28, flat32}, {32, flat32}, {36, flat32}, {40, flat32}, {44, flat32}, {48, flat32}, {52, flat32}, {56, flat32}, {60, flat32}}},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var monitorRegisterPackage = Function{
	Interface: "monitor", Name: "register-package", Index: 5,
	params: layout{size: 80, align: 4},
	result: layout{size: 76, align: 4},
	fails:  true, payload: 4,
}

var monitorStart = Function{
	Interface: "monitor", Name: "start", Index: 6,
	params: layout{size: 240, align: 8},
	result: layout{size: 80, align: 8},
	fails:  true, payload: 8,
}

var monitorWait = Function{
	Interface: "monitor", Name: "wait", Index: 7,
	result: layout{size: 96, align: 8},
	fails:  true, payload: 8,
}

// providerFunctions has the functions that modules of that world export, by index.
var providerFunctions = [...]*Function{
	&providerHandshake,
	&providerParameterize,
	&providerGetSchema,
	&providerGetMapping,
	&providerGetMappings,
	&providerCheckConfig,
	&providerDiffConfig,
	&providerConfigure,
	&providerCheck,
	&providerDiff,
	&providerCreate,
	&providerRead,
	&providerUpdate,
	&providerDelete,
	&providerList,
	&providerInvoke,
	&providerStreamInvoke,
	&providerStreamNext,
	&providerStreamClose,
	&providerOpenEphemeral,
	&providerRenewEphemeral,
	&providerCloseEphemeral,
	&providerRunAction,
	&providerExists,
	&providerCall,
	&providerConstruct,
	&providerCancel,
}

// policyFunctions has the functions that modules of that world export, by index.
var policyFunctions = [...]*Function{
	&policyHandshake,
	&policyConfigure,
	&policyRemediate,
	&policyAnalyze,
	&policyAnalyzeStack,
	&policyCancel,
}

// programFunctions has the functions that modules of that world export, by index.
var programFunctions = [...]*Function{
	&programRun,
}
