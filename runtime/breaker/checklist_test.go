package breaker_test

// What a breaker must survive, by number, and the tests that show it:
//
//	 1  50 at the trip edge, reject and wait    TestTripEdge_50CallersCostOneCall, TestTripEdge_WaitersRunAfterSuccess
//	 2  50 into half-open                       TestHalfOpen_50CallersCostTwoProbes
//	 3  late results of a closed-era call       TestLate_ClosedEraResultChangesNothing
//	 4  half-open episode k reports in k+1      TestLate_ProbeOfEarlierEpisode
//	 5  panic and Goexit in a call              TestDo_PanicCountsAndKeepsItsStack, TestDo_GoexitCounts
//	 6  classifier panics                       TestDo_ClassifierPanics
//	 7  cancellation and deadlines              TestDo_Cancellation, TestProbe_CancelledGivesSlotBack
//	 8  hung probe                              TestProbe_HungLosesItsSlot, TestTripEdge_HungCallLosesItsSlot
//	 9  ignored probes, what counts             TestProbe_IgnoredAreUnlimited, TestTransport_WhatCounts
//	10  done twice, never, elsewhere            TestPermit_CountsOnce, TestProbe_HungLosesItsSlot
//	11  nothing extends the open time           TestOpen_NothingExtendsIt, TestOpen_RemainingFalls
//	12  full jitter                             TestFullJitter, FuzzFullJitter, TestBackoff_FollowsFailedRecoveries
//	13  clock                                   TestOpen_ExactBoundary, TestOpen_LongSuspend
//	14  windows                                 TestWindow_*
//	15  8 parallel failures always trip         TestClosed_ParallelFailuresTrip
//	16  hooks                                   TestHook_*
//	17  force open, disable, reset              TestForceOpen*, TestDisable, TestReset_DropsOldTokens
//	18  registry                                TestRegistry_*
//	19  outer limits                            TestDo_LimiterInsideTakesNoProbe, TestDo_LimiterOutsideIsReleased
//	20  JSON events                             TestEvents_*
//	21  Redis                                   package redisbreaker
//	22  reference model; gobreaker              TestModel_*, FuzzModel; module bench, package breaker
